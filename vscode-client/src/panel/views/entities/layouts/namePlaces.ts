/**
 * Places the names of entities: next to, below or above each entity, free of other shapes. A name covers the border of a container only
 * if there is no other room.
 *
 * Invariant: names cover neither each other nor the circle of another entity. Names without room are left out, the less important first.
 */

export interface Named {
  id: number;
  x: number;
  y: number;
  radius: number;
  width: number;
  height: number;
  /** Names of containers stand at their top. They count as squares, unless they have no radius. */
  holds: boolean;
  /** Shown wherever it is, by the others' leave. */
  must: boolean;
}

export interface NamePlace {
  id: number;
  /** The left end and the middle of the line. */
  x: number;
  y: number;
  /** Is it all within its own circle? */
  inside: boolean;
}

interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
  of: number;
}

const GAP = 3;
const CELL = 48;
/** Of a border, in px, with some room on both sides. */
const BORDER = 4;

/** The most important first. Only those within the frame. */
export function placeNames(named: readonly Named[], width: number, height: number): NamePlace[] {
  const grid = new Grid(width, height);
  const borders = new Grid(width, height);
  for (const one of named) {
    if (!one.holds) grid.add(square(one, 0));
    else if (one.radius > 0) for (const side of sides(one)) borders.add(side);
  }
  const found: NamePlace[] = [];
  for (const one of named) {
    const all = candidates(one);
    let spot: Rect | undefined;
    for (const rect of all) {
      if (rect.left < 0 || rect.top < 0 || rect.right > width || rect.bottom > height || grid.hits(rect)) continue;
      const isFree = !borders.hits(rect);
      if (isFree || !spot) spot = rect;
      if (isFree) break;
    }
    const chosen = spot ?? (one.must ? all[0] : undefined);
    if (!chosen) continue;
    grid.add({ ...chosen, of: -1 });
    const y = (chosen.top + chosen.bottom) / 2;
    found.push({
      id: one.id,
      x: chosen.left,
      y,
      inside:
        !one.holds &&
        Math.abs(y - one.y) < one.radius &&
        chosen.left > one.x - one.radius &&
        chosen.right < one.x + one.radius,
    });
  }
  return found;
}

function square({ id, x, y, radius }: Named, more: number): Rect {
  const half = radius + more;
  return { left: x - half, top: y - half, right: x + half, bottom: y + half, of: id };
}

/** Of a container's square. */
function sides(one: Named): Rect[] {
  const [outer, inner] = [square(one, BORDER / 2), square(one, -BORDER / 2)];
  return [
    { ...outer, bottom: inner.top },
    { ...outer, top: inner.bottom },
    { ...outer, right: inner.left },
    { ...outer, left: inner.right },
  ];
}

function candidates({ id, x, y, radius, width, height, holds }: Named): Rect[] {
  const at = (left: number, top: number): Rect => ({ left, top, right: left + width, bottom: top + height, of: id });
  if (holds) {
    const inside = Math.max(2, radius * 0.06);
    const places = [at(x - width / 2, y - radius - height - 1), at(x - width / 2, y + radius + 1)];
    // Within a large one there is room in the corners, which a ring leaves free.
    if (width < radius * 1.7) places.unshift(at(x - width / 2, y - radius + inside));
    return places;
  }
  const beside = radius + GAP;
  const inside = width <= radius * 1.8 ? [at(x - width / 2, y - height / 2)] : [];
  return [
    ...inside,
    at(x - width / 2, y + beside),
    at(x + beside, y - height / 2),
    at(x - width / 2, y - beside - height),
    at(x - beside - width, y - height / 2),
  ];
}

/** Rectangles by squares of the screen, as far as they are on it. */
class Grid {
  private readonly cells = new Map<number, Rect[]>();

  constructor(
    private readonly width: number,
    private readonly height: number,
  ) {}

  add(rect: Rect): void {
    const left = Math.max(0, rect.left);
    const top = Math.max(0, rect.top);
    const seen = {
      ...rect,
      left,
      top,
      right: Math.min(this.width, rect.right),
      bottom: Math.min(this.height, rect.bottom),
    };
    for (const cell of cellsOf(seen)) {
      const list = this.cells.get(cell);
      if (list) list.push(rect);
      else this.cells.set(cell, [rect]);
    }
  }

  hits(rect: Rect): boolean {
    for (const cell of cellsOf(rect)) {
      for (const other of this.cells.get(cell) ?? []) {
        // A name may stand in its own circle.
        if (other.of === rect.of) continue;
        if (rect.left < other.right && other.left < rect.right && rect.top < other.bottom && other.top < rect.bottom) {
          return true;
        }
      }
    }
    return false;
  }
}

function* cellsOf({ left, top, right, bottom }: Rect): Iterable<number> {
  for (let row = Math.floor(top / CELL); row * CELL < bottom; row++) {
    for (let column = Math.floor(left / CELL); column * CELL < right; column++) yield row * 65_536 + column;
  }
}
