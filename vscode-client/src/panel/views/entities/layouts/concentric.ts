/**
 * The concentric layout: entities on a ring, the contents of a container on a ring inside it, ordered for short lines and few crossings.
 *
 * For n entities on a ring in radius R, with s = sin(pi / n): the radius of the ring is a = R / (1 + s), the radius of each entity 0.75
 * a s; a single entity has 0.75 R. Entities without contents are drawn smaller, so that a line past a neighbour on a large ring does not
 * touch it. Invariant: an entity does not touch its neighbours on the ring, and the contents of a container stay within it.
 */
import { type Group, groups, type Link } from "./groups";
import type { EntityInput, Place } from "./types";

/** Ring size up to which every swap and every reversed segment is tried. */
const FEW = 128;
const PASSES = 40;
/** Of a larger ring: places between which members are exchanged. */
const NEAR = 8;

export function concentric(input: EntityInput): Place[] {
  const found = new Map<number, Place>();
  const small = new Map<number, number>();
  for (const group of groups(input)) {
    const around = found.get(group.container) ?? { id: -1, x: 0, y: 0, radius: input.radius };
    const spots = ring(group.members.length, around);
    const order = chosen(group, spots, found);
    order.forEach((member, spot) => {
      const place = spots[spot];
      const id = group.members[member];
      if (!place || id === undefined) return;
      found.set(id, { ...place, id });
      if (spots.length > 4) small.set(id, passing(spots.length, place.radius));
    });
  }
  const holders = new Set(input.entities.map((entity) => entity.container));
  return input.entities.flatMap(({ id }) => {
    const place = found.get(id);
    if (!place) return [];
    return holders.has(id) ? place : { ...place, radius: Math.min(place.radius, small.get(id) ?? Infinity) };
  });
}

/** The distance of an entity from a line between its two neighbours, or a fifth of its room. */
function passing(count: number, room: number): number {
  const share = Math.sin(Math.PI / Math.max(2, count));
  const distance = room / 0.75 / share;
  return Math.max(0.9 * distance * (1 - Math.cos((2 * Math.PI) / count)), 0.27 * room);
}

export function ring(count: number, around: Place): Place[] {
  const { x, y, radius } = around;
  if (count === 1) return [{ id: -1, x, y, radius: 0.75 * radius }];
  const share = Math.sin(Math.PI / count);
  const distance = radius / (1 + share);
  return Array.from({ length: count }, (_, index) => {
    const angle = (2 * Math.PI * index) / count - Math.PI / 2;
    return {
      id: -1,
      x: x + distance * Math.cos(angle),
      y: y + distance * Math.sin(angle),
      radius: 0.75 * distance * share,
    };
  });
}

/** The member at each spot: several orders are shortened, and the one with the fewest crossings wins. */
function chosen(group: Group, spots: readonly Place[], placed: ReadonlyMap<number, Place>): number[] {
  const given = group.members.map((_, index) => index);
  if (given.length < 3 || !(group.inner.length + group.outer.length)) return given;
  const length = new Lengths(group, spots, placed);
  const walked = depthFirst(group);
  const orders = [walked, shortened(walked, length), shortened(given, length)];
  const rated = orders.map((order) => ({ order, crossings: crossings(order, group.inner), length: length.all(order) }));
  rated.sort((a, b) => a.crossings - b.crossings || a.length - b.length);
  return rated[0]?.order ?? given;
}

/** The cost of lines by the member at each spot. Invariant: the spots are those of a ring. */
class Lengths {
  private readonly links: Link[][];
  private readonly outer: { to: Place; weight: number }[][];
  /** From a spot to the one this many further. */
  private readonly chords: Float64Array;
  /** By member and spot the lines that leave the ring; not cached for a large ring. */
  private readonly leaving: readonly (Float64Array | undefined)[];

  constructor(
    group: Group,
    private readonly spots: readonly Place[],
    placed: ReadonlyMap<number, Place>,
  ) {
    this.links = group.members.map(() => []);
    this.outer = group.members.map(() => []);
    for (const { a, b, weight } of group.inner) {
      this.links[a]?.push({ a, b, weight });
      this.links[b]?.push({ a: b, b: a, weight });
    }
    for (const { a, b, weight } of group.outer) {
      const to = placed.get(b);
      if (to) this.outer[a]?.push({ to, weight });
    }
    this.chords = Float64Array.from(spots, (spot) => distance(spots[0], spot));
    this.leaving =
      spots.length > FEW
        ? []
        : this.outer.map((_, member) => Float64Array.from(spots, (_spot, at) => this.left(member, at)));
  }

  /** Of the lines of one member. */
  of(member: number, spotOf: readonly number[]): number {
    const here = spotOf[member] ?? 0;
    let sum = this.leaving[member]?.[here] ?? this.left(member, here);
    for (const { b, weight } of this.links[member] ?? []) {
      sum += weight * (this.chords[Math.abs(here - (spotOf[b] ?? 0))] ?? 0);
    }
    return sum;
  }

  all(order: readonly number[]): number {
    const spotOf = inverse(order);
    return order.reduce((sum, member) => sum + this.of(member, spotOf), 0);
  }

  private left(member: number, spot: number): number {
    let sum = 0;
    for (const { to, weight } of this.outer[member] ?? []) sum += weight * distance(this.spots[spot], to);
    return sum;
  }
}

function distance(a: Place | undefined, b: Place | undefined): number {
  if (!a || !b) return 0;
  const [dx, dy] = [a.x - b.x, a.y - b.y];
  // Ten times as fast as `Math.hypot`, whose care for very large numbers no place needs.
  return Math.sqrt(dx * dx + dy * dy);
}

function inverse(order: readonly number[]): number[] {
  const found = new Array<number>(order.length).fill(0);
  order.forEach((member, spot) => (found[member] = spot));
  return found;
}

/** Repeats while swapping two members or reversing a segment makes lines shorter. */
function shortened(start: readonly number[], length: Lengths): number[] {
  const order = [...start];
  const spotOf = inverse(order);
  const few = order.length <= FEW;
  const sum = (from: number, to: number): number => {
    let found = 0;
    for (let spot = from; spot <= to; spot++) found += length.of(order[spot] ?? 0, spotOf);
    return found;
  };
  const turn = (from: number, to: number): void => {
    for (let low = from, high = to; low < high; low++, high--) exchange(low, high);
  };
  const exchange = (low: number, high: number): void => {
    const a = order[low] ?? 0;
    const b = order[high] ?? 0;
    order[low] = b;
    order[high] = a;
    spotOf[b] = low;
    spotOf[a] = high;
  };
  for (let pass = 0, better = true; better && pass < PASSES; pass++) {
    better = false;
    for (let low = 0; low < order.length; low++) {
      const end = few ? order.length : Math.min(order.length, low + NEAR);
      for (let high = low + 1; high < end; high++) {
        const a = order[low] ?? 0;
        const b = order[high] ?? 0;
        const before = length.of(a, spotOf) + length.of(b, spotOf);
        exchange(low, high);
        if (length.of(a, spotOf) + length.of(b, spotOf) < before - 1e-9) {
          better = true;
          continue;
        }
        exchange(low, high);
        if (!few || high - low < 2) continue;
        const stretch = sum(low, high);
        turn(low, high);
        if (sum(low, high) < stretch - 1e-9) better = true;
        else turn(low, high);
      }
    }
  }
  return order;
}

/** From the member with the fewest lines on, always to one that it talks to, those with few lines first: a tree is not crossed. */
export function depthFirst(group: Group): number[] {
  const near = group.members.map(() => new Set<number>());
  for (const { a, b } of group.inner) {
    near[a]?.add(b);
    near[b]?.add(a);
  }
  const degree = (member: number): number => near[member]?.size ?? 0;
  const starts = group.members.map((_, index) => index).sort((a, b) => degree(a) - degree(b) || a - b);
  const seen = new Set<number>();
  for (const start of starts) {
    const open = [start];
    for (let member = open.pop(); member !== undefined; member = open.pop()) {
      if (seen.has(member)) continue;
      seen.add(member);
      open.push(
        ...[...(near[member] ?? [])].filter((one) => !seen.has(one)).sort((a, b) => degree(b) - degree(a) || b - a),
      );
    }
  }
  return [...seen];
}

/** How many pairs of lines within a ring cross, in lines of 2,000 at most. */
function crossings(order: readonly number[], links: readonly Link[]): number {
  const spotOf = inverse(order);
  const ends = links.slice(0, 2000).map(({ a, b }) => {
    const [one, other] = [spotOf[a] ?? 0, spotOf[b] ?? 0];
    return one < other ? ([one, other] as const) : ([other, one] as const);
  });
  let found = 0;
  ends.forEach(([low, high], index) => {
    for (let other = index + 1; other < ends.length; other++) {
      const [a, b] = ends[other] ?? [low, high];
      if (a !== low && b !== high && a !== high && b !== low && a > low && a < high !== (b > low && b < high)) found++;
      else if (a < low && b > low && b < high) found++;
    }
  });
  return found;
}
