/**
 * Repulsion of points by the inverse square of their distance. For many points it uses the tree of Barnes and Hut, in which a distant
 * square counts as one point in its centre of mass.
 */

/** Points up to which every pair is looked at, which is exact and then no slower. */
export const EXACT = 300;
/** A square counts as one point if it appears no wider than this (side / distance). */
const WIDE = 0.7;
const DEEPEST = 24;
/** Points on each other are driven apart as if they were so far, in px. */
const NEAREST = 1;

/** Adds to `fx` and `fy` what `strength / d²` gives. */
export function repel(x: Float64Array, y: Float64Array, strength: number, fx: Float64Array, fy: Float64Array): void {
  if (x.length <= EXACT) pairwise(x, y, strength, fx, fy);
  else new Tree(x, y).repel(strength, fx, fy);
}

function pairwise(x: Float64Array, y: Float64Array, strength: number, fx: Float64Array, fy: Float64Array): void {
  for (let i = 0; i < x.length; i++) {
    for (let j = 0; j < i; j++) {
      const [dx, dy] = [(x[i] ?? 0) - (x[j] ?? 0), (y[i] ?? 0) - (y[j] ?? 0)];
      const force = pull(dx, dy, strength);
      fx[i] = (fx[i] ?? 0) + force * dx;
      fy[i] = (fy[i] ?? 0) + force * dy;
      fx[j] = (fx[j] ?? 0) - force * dx;
      fy[j] = (fy[j] ?? 0) - force * dy;
    }
  }
}

/** Per px of the distance in each direction. */
function pull(dx: number, dy: number, strength: number): number {
  const squared = Math.max(dx * dx + dy * dy, NEAREST);
  return strength / (squared * Math.sqrt(squared));
}

interface Square {
  /** Its lower corner and side. */
  left: number;
  top: number;
  side: number;
  mass: number;
  /** Sums over its points. */
  x: number;
  y: number;
  /** Four, when it holds several points. */
  parts: (Square | undefined)[] | undefined;
  points: number[];
}

class Tree {
  private readonly root: Square;

  constructor(
    private readonly x: Float64Array,
    private readonly y: Float64Array,
  ) {
    let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < x.length; i++) {
      left = Math.min(left, x[i] ?? 0);
      right = Math.max(right, x[i] ?? 0);
      top = Math.min(top, y[i] ?? 0);
      bottom = Math.max(bottom, y[i] ?? 0);
    }
    this.root = square(left, top, Math.max(right - left, bottom - top, 1e-9) * (1 + 1e-9));
    for (let i = 0; i < x.length; i++) this.add(i);
  }

  private add(point: number): void {
    let [at, depth] = [this.root, 0];
    for (;;) {
      at.mass++;
      at.x += this.x[point] ?? 0;
      at.y += this.y[point] ?? 0;
      if (!at.parts) {
        at.points.push(point);
        if (at.points.length === 1 || depth >= DEEPEST) return;
        // What is here goes one square down, and the point after it.
        const [here] = at.points;
        at.points = [];
        at.parts = [];
        const part = this.part(at, here ?? 0);
        part.mass = 1;
        part.x = this.x[here ?? 0] ?? 0;
        part.y = this.y[here ?? 0] ?? 0;
        part.points.push(here ?? 0);
      }
      at = this.part(at, point);
      depth++;
    }
  }

  private part(of: Square, point: number): Square {
    const half = of.side / 2;
    const right = (this.x[point] ?? 0) >= of.left + half ? 1 : 0;
    const below = (this.y[point] ?? 0) >= of.top + half ? 1 : 0;
    const parts = (of.parts ??= []);
    return (parts[right + 2 * below] ??= square(of.left + right * half, of.top + below * half, half));
  }

  repel(strength: number, fx: Float64Array, fy: Float64Array): void {
    const open: Square[] = [];
    for (let i = 0; i < this.x.length; i++) {
      const [x, y] = [this.x[i] ?? 0, this.y[i] ?? 0];
      open.push(this.root);
      for (let at = open.pop(); at; at = open.pop()) {
        const [dx, dy] = [x - at.x / at.mass, y - at.y / at.mass];
        if (at.parts && at.side * at.side > WIDE * WIDE * (dx * dx + dy * dy)) {
          for (const part of at.parts) if (part) open.push(part);
          continue;
        }
        const mass = at.parts ? at.mass : at.points.includes(i) ? at.mass - 1 : at.mass;
        const force = mass * pull(dx, dy, strength);
        fx[i] = (fx[i] ?? 0) + force * dx;
        fy[i] = (fy[i] ?? 0) + force * dy;
      }
    }
  }
}

function square(left: number, top: number, side: number): Square {
  return { left, top, side, mass: 0, x: 0, y: 0, parts: undefined, points: [] };
}
