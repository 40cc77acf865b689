/**
 * The force-directed layout: entities repel each other, lines attract them; the contents of a container stay together in its colour.
 *
 * Repulsion is 4096 / d², the spring of a line 0.0625 (d - 64). Friction keeps the way to rest short: a particle accelerates while it
 * moves downhill and stops otherwise (FIRE). The system is at rest when no particle moves by 1e-5 px per cycle and no force is left. A
 * container is in the middle of its contents, has no radius of its own, and keeps its area free of foreign entities.
 */
import { pairs, pathsOf } from "../groups";
import { initialSpacing } from "../spacing";
import { repel } from "./repulsion";
import { ContainerAreas } from "./containerArea";
import type { EntityInput, Place, Spot } from "../types";

export const REPULSION = 4096;
export const STIFFNESS = 0.0625;
export const LENGTH = 64;
export const STILL = 1e-5;
/** With which a container's middle, and the picture's, pull, per px. */
const HOLD = 0.06;
const GATHER = 0.006;
/** Of a line's pull, what is left between what is in different containers: else one that talks to many others would be torn. */
const ACROSS = 0.06;
const RADIUS = 10;
const MOST_CYCLES = 20_000;
/** Of FIRE: the step in cycles, its bounds, and how it changes. */
const [STEP, LONGEST, FASTER, SLOWER, PATIENCE, MIXED, LESS] = [0.5, 1.6, 1.1, 0.5, 5, 0.1, 0.99];

interface Spring {
  /** Places among the particles; of a container all that are in it. */
  from: readonly number[];
  to: readonly number[];
  stiffness: number;
}

export class ForceLayout {
  readonly x: Float64Array;
  readonly y: Float64Array;
  cycles = 0;
  private readonly ids: number[];
  private readonly particle: ReadonlyMap<number, number>;
  /** By entity what is in it, itself where nothing is. */
  private readonly inside: ReadonlyMap<number, readonly number[]>;
  private readonly springs: Spring[];
  private readonly held: (readonly number[])[];
  private readonly territory: ContainerAreas;
  private readonly fx: Float64Array;
  private readonly fy: Float64Array;
  private readonly vx: Float64Array;
  private readonly vy: Float64Array;
  private readonly pinned = new Set<number>();
  private step = STEP;
  private mixed = MIXED;
  private downhill = 0;

  /** `from`: where entities are already, as `places` gave them; the others begin as the lines spread them. */
  constructor(
    private readonly input: EntityInput,
    from: readonly Place[] = [],
  ) {
    const paths = pathsOf(input);
    const holders = new Set([...paths.values()].flatMap((path) => path.slice(0, -1)));
    this.ids = input.entities.map(({ id }) => id).filter((id) => !holders.has(id));
    this.particle = new Map(this.ids.map((id, index) => [id, index]));
    const inside = new Map<number, number[]>();
    this.ids.forEach((id, index) => {
      for (const above of paths.get(id) ?? []) {
        const list = inside.get(above);
        if (list) list.push(index);
        else inside.set(above, [index]);
      }
    });
    this.inside = inside;
    // A container of all entities has no foreign ones.
    this.held = [...holders].map((id) => inside.get(id) ?? []).filter(({ length }) => length < this.ids.length);
    this.territory = new ContainerAreas(this.held, this.ids.length, LENGTH);
    const concerned = (a: number, b: number): boolean =>
      (paths.get(a) ?? []).includes(b) || (paths.get(b) ?? []).includes(a);
    this.springs = [...pairs(input).keys()].flatMap((pair) => {
      const [a = -1, b = -1] = pair.split(" ").map(Number);
      const together = paths.get(a)?.at(-2) === paths.get(b)?.at(-2);
      const stiffness = together ? STIFFNESS : ACROSS * STIFFNESS;
      return concerned(a, b) ? [] : [{ from: inside.get(a) ?? [], to: inside.get(b) ?? [], stiffness }];
    });
    const spots = this.start(this.ids.map((id) => paths.get(id)?.[0] ?? id));
    this.x = Float64Array.from(spots, (spot) => spot.x);
    this.y = Float64Array.from(spots, (spot) => spot.y);
    this.begin(from);
    [this.fx, this.fy, this.vx, this.vy] = [this.zeros(), this.zeros(), this.zeros(), this.zeros()];
  }

  /** Outermost containers as the lines between them spread those, and around the middle of each what is in it as all lines spread that. */
  private start(outermost: readonly number[]): Spot[] {
    const links = this.springs.map(({ from, to }) => ({ a: from[0] ?? 0, b: to[0] ?? 0, weight: 1 }));
    const fine = initialSpacing(this.ids.length, links);
    const wholes = [...new Set(outermost)];
    if (wholes.length === 1 || wholes.length === this.ids.length)
      return fine.map(({ x, y }) => ({ x: x * LENGTH, y: y * LENGTH }));
    const wholeOf = outermost.map((id) => wholes.indexOf(id));
    const sums = wholes.map(() => ({ x: 0, y: 0, count: 0 }));
    fine.forEach(({ x, y }, index) => {
      const sum = sums[wholeOf[index] ?? 0];
      if (sum) [sum.x, sum.y, sum.count] = [sum.x + x, sum.y + y, sum.count + 1];
    });
    const coarse = initialSpacing(
      wholes.length,
      links
        .map(({ a, b, weight }) => ({ a: wholeOf[a] ?? 0, b: wholeOf[b] ?? 0, weight }))
        .filter(({ a, b }) => a !== b),
    );
    const wide = LENGTH * (1 + Math.sqrt(Math.max(...sums.map(({ count }) => count))));
    return fine.map(({ x, y }, index) => {
      const [whole, sum] = [coarse[wholeOf[index] ?? 0], sums[wholeOf[index] ?? 0]];
      if (!whole || !sum) return { x, y };
      return {
        x: whole.x * wide + (x - sum.x / sum.count) * LENGTH,
        y: whole.y * wide + (y - sum.y / sum.count) * LENGTH,
      };
    });
  }

  /** Continues from the current positions, with new entities next to those that they communicate with. */
  private begin(from: readonly Place[]): void {
    const known = new Map(from.map((place) => [this.particle.get(place.id) ?? -1, place]));
    known.delete(-1);
    if (known.size === 0) return;
    // What there was had room for as many as were there.
    const unit = Math.max(1, Math.sqrt(known.size)) * LENGTH * 0.7;
    const scale = unit / this.input.radius;
    const near = new Map<number, number>();
    for (const { from: a, to: b } of this.springs) {
      const [one = -1, other = -1] = [a[0], b[0]];
      if (known.has(one)) near.set(other, one);
      if (known.has(other)) near.set(one, other);
    }
    for (let i = 0; i < this.ids.length; i++) {
      const place = known.get(i) ?? known.get(near.get(i) ?? -1);
      if (!place) continue;
      const aside = known.has(i) ? 0 : LENGTH / 2;
      [this.x[i], this.y[i]] = [place.x * scale + aside * Math.cos(i), place.y * scale + aside * Math.sin(i)];
    }
  }

  private zeros(): Float64Array {
    return new Float64Array(this.ids.length);
  }

  /** Pins an entity to a position in px of the layout until it is unpinned. */
  pin(id: number, spot: { x: number; y: number } | undefined): void {
    const index = this.particle.get(id);
    if (index === undefined) return;
    if (!spot) {
      this.pinned.delete(index);
      return;
    }
    this.pinned.add(index);
    [this.x[index], this.y[index]] = [spot.x, spot.y];
  }

  /** One cycle; is anything moving still? */
  cycle(): boolean {
    this.cycles++;
    this.forces();
    let [power, force, speed] = [0, 0, 0];
    for (let i = 0; i < this.x.length; i++) {
      const [fx, fy, vx, vy] = [this.fx[i] ?? 0, this.fy[i] ?? 0, this.vx[i] ?? 0, this.vy[i] ?? 0];
      power += fx * vx + fy * vy;
      force += fx * fx + fy * fy;
      speed += vx * vx + vy * vy;
    }
    const along = force > 0 ? Math.sqrt(speed / force) * this.mixed : 0;
    const uphill = power < 0;
    let [moved, left] = [0, 0];
    for (let i = 0; i < this.x.length; i++) {
      const [fx, fy] = [this.fx[i] ?? 0, this.fy[i] ?? 0];
      const vx = uphill ? 0 : (1 - this.mixed) * (this.vx[i] ?? 0) + along * fx;
      const vy = uphill ? 0 : (1 - this.mixed) * (this.vy[i] ?? 0) + along * fy;
      const [dx, dy] = this.bounded(this.step * (vx + this.step * fx), this.step * (vy + this.step * fy));
      this.vx[i] = dx / this.step;
      this.vy[i] = dy / this.step;
      this.x[i] = (this.x[i] ?? 0) + dx;
      this.y[i] = (this.y[i] ?? 0) + dy;
      moved = Math.max(moved, Math.abs(dx), Math.abs(dy));
      left = Math.max(left, Math.abs(fx), Math.abs(fy));
    }
    this.downhill = uphill ? 0 : this.downhill + 1;
    if (uphill) [this.step, this.mixed] = [this.step * SLOWER, MIXED];
    else if (this.downhill > PATIENCE) {
      [this.step, this.mixed] = [Math.min(LONGEST, this.step * FASTER), this.mixed * LESS];
    }
    return moved >= STILL || left >= STILL;
  }

  /** No cycle takes anything farther than a line is long. */
  private bounded(dx: number, dy: number): [number, number] {
    const far = Math.hypot(dx, dy);
    return far > LENGTH ? [(dx * LENGTH) / far, (dy * LENGTH) / far] : [dx, dy];
  }

  private forces(): void {
    this.fx.fill(0);
    this.fy.fill(0);
    repel(this.x, this.y, REPULSION, this.fx, this.fy);
    for (const { from, to, stiffness } of this.springs) {
      const [a, b] = [this.middle(from), this.middle(to)];
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const far = Math.hypot(dx, dy) || 1e-9;
      const pull = (stiffness * (far - LENGTH)) / far;
      this.push(from, pull * dx, pull * dy);
      this.push(to, -pull * dx, -pull * dy);
    }
    for (const members of this.held) {
      const { x, y } = this.middle(members);
      for (const i of members) this.push([i], HOLD * (x - (this.x[i] ?? 0)), HOLD * (y - (this.y[i] ?? 0)));
    }
    this.territory.push(this.x, this.y, this.fx, this.fy);
    for (let i = 0; i < this.x.length; i++) this.push([i], -GATHER * (this.x[i] ?? 0), -GATHER * (this.y[i] ?? 0));
    for (const i of this.pinned) [this.fx[i], this.fy[i], this.vx[i], this.vy[i]] = [0, 0, 0, 0];
  }

  private push(members: readonly number[], fx: number, fy: number): void {
    for (const i of members) {
      this.fx[i] = (this.fx[i] ?? 0) + fx / members.length;
      this.fy[i] = (this.fy[i] ?? 0) + fy / members.length;
    }
  }

  private middle(members: readonly number[]): { x: number; y: number } {
    let [x, y] = [0, 0];
    for (const i of members) {
      x += this.x[i] ?? 0;
      y += this.y[i] ?? 0;
    }
    return { x: x / members.length, y: y / members.length };
  }

  /** With which the picture is as large as was asked for. */
  get scale(): number {
    const far = this.ids.reduce((most, _, i) => Math.max(most, Math.hypot(this.x[i] ?? 0, this.y[i] ?? 0)), 0);
    return this.input.radius / (far + RADIUS);
  }

  places(scale = this.scale): Place[] {
    return this.input.entities.map(({ id }) => {
      const { x, y } = this.middle(this.inside.get(id) ?? [0]);
      return { id, x: x * scale, y: y * scale, radius: this.particle.has(id) ? RADIUS * scale : 0 };
    });
  }
}

/** Runs to rest, or up to this many cycles. */
export function settled(input: EntityInput, most = MOST_CYCLES): { places: Place[]; cycles: number; still: boolean } {
  const layout = new ForceLayout(input);
  let moving = true;
  while (moving && layout.cycles < most) moving = layout.cycle();
  return { places: layout.places(), cycles: layout.cycles, still: !moving };
}

/** Of many entities as far as they come in a second or two. */
export function force(input: EntityInput): Place[] {
  const most = Math.max(100, Math.min(MOST_CYCLES, Math.round(2_000_000 / (1 + input.entities.length))));
  return settled(input, most).places;
}
