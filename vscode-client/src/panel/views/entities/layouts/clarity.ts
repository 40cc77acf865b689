/**
 * Measures the clarity of a picture: for each line the number of crossings, and the number of unrelated entities that it passes over.
 *
 * A line is clear if fewer than 3 other lines cross it and it passes over no entity. Lines with a common end do not cross. The
 * containers and the contents of a line's ends are related to it. The outline of a container should contain no foreign entity.
 */
import { pairs, pathsOf } from "./groups";
import { hull } from "./hull";
import type { EntityInput, Place, Spot } from "./types";

export const CROSSED_BELOW = 3;

export interface Clarity {
  /** Pairs that communicate per entity; containers that do not communicate are none. */
  ratio: number;
  lines: number;
  /** Lines with fewer than 3 crossings over no entity. */
  clear: number;
  crossings: number;
  mostCrossed: number;
  /** Entities that lines pass over, all together. */
  passed: number;
  /** Number of entities inside the outline of a foreign container. */
  foreign: number;
  /** Are all lines clear, and is no entity in a foreign container? */
  cleared: boolean;
}

export function clarity(input: EntityInput, places: readonly Place[]): Clarity {
  const placeOf = new Map(places.map((place) => [place.id, place]));
  const paths = pathsOf(input);
  const ends = [...pairs(input).keys()].map((pair) => pair.split(" ").map(Number) as [number, number]);
  const placed = ends.flatMap(([a, b], index) => {
    const [from, to] = [placeOf.get(a), placeOf.get(b)];
    return from && to ? [{ index, from, to }] : [];
  });
  const crossed = new Array<number>(ends.length).fill(0);
  const over = new Array<number>(ends.length).fill(0);
  let crossings = 0;
  placed.forEach(({ index, from, to }, at) => {
    for (let next = at + 1; next < placed.length; next++) {
      const other = placed[next];
      if (!other || other.from === from || other.from === to || other.to === from || other.to === to) continue;
      if (!cross(from, to, other.from, other.to)) continue;
      crossings++;
      crossed[index] = (crossed[index] ?? 0) + 1;
      crossed[other.index] = (crossed[other.index] ?? 0) + 1;
    }
    const concerned = [...(paths.get(from.id) ?? []), ...(paths.get(to.id) ?? [])];
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    for (const place of places) {
      const { x, y, radius } = place;
      if (x + radius < left || x - radius > right || y + radius < top || y - radius > bottom) continue;
      // Where it is, is known sooner than whom the line concerns.
      if (apart(place, from, to) >= place.radius || concerned.includes(place.id)) continue;
      const path = paths.get(place.id) ?? [];
      if (!path.includes(from.id) && !path.includes(to.id)) over[index] = (over[index] ?? 0) + 1;
    }
  });
  const clear = crossed.filter((count, index) => count < CROSSED_BELOW && !over[index]).length;
  const holders = new Set(input.entities.map((entity) => entity.container));
  const talking = new Set(ends.flat());
  const entities = input.entities.filter(({ id }) => talking.has(id) || !holders.has(id)).length;
  const foreign = strangers(places, paths);
  return {
    ratio: entities ? ends.length / entities : 0,
    lines: ends.length,
    clear,
    crossings,
    mostCrossed: Math.max(0, ...crossed),
    passed: over.reduce((sum, count) => sum + count, 0),
    foreign,
    cleared: clear === ends.length && foreign === 0,
  };
}

export function isBetter(one: Clarity, other: Clarity): boolean {
  const [ours, theirs] = [one.clear - one.foreign, other.clear - other.foreign];
  if (ours !== theirs) return ours > theirs;
  return one.crossings + one.passed < other.crossings + other.passed;
}

/** How often one that holds nothing touches the outline, drawn a little apart, of all such in a container, though it is not in that. */
function strangers(places: readonly Place[], paths: ReadonlyMap<number, number[]>): number {
  const holders = new Set([...paths.values()].flatMap((path) => path.slice(0, -1)));
  const leaves = places.filter(({ id }) => !holders.has(id));
  let found = 0;
  for (const holder of holders) {
    const isIn = ({ id }: Place): boolean => (paths.get(id) ?? []).includes(holder);
    const members = leaves.filter(isIn);
    const outline = hull(members, Math.max(0, ...members.map(({ radius }) => radius)));
    found += leaves.filter((leaf) => !isIn(leaf) && touches(leaf, outline)).length;
  }
  return found;
}

/** Of an outline as `hull` makes it, to the left of whose sides its inside is. */
function touches(circle: Place, outline: readonly Spot[]): boolean {
  return (
    outline.length > 2 &&
    outline.every((from, index) => {
      const to = outline[(index + 1) % outline.length] ?? from;
      return side(from, to, circle) > -circle.radius * Math.hypot(to.x - from.x, to.y - from.y);
    })
  );
}

/** Do two lines cross, or lie on each other? */
export function cross(a: Spot, b: Spot, c: Spot, d: Spot): boolean {
  const one = side(a, b, c);
  const two = side(a, b, d);
  if (one === 0 && two === 0) return between(a, b, c) || between(a, b, d) || between(c, d, a);
  return one * two <= 0 && side(c, d, a) * side(c, d, b) <= 0;
}

function side(a: Spot, b: Spot, c: Spot): number {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

function between(a: Spot, b: Spot, c: Spot): boolean {
  return (
    Math.min(a.x, b.x) <= c.x && c.x <= Math.max(a.x, b.x) && Math.min(a.y, b.y) <= c.y && c.y <= Math.max(a.y, b.y)
  );
}

/** How far a point is from a line. */
export function apart(point: Spot, from: Spot, to: Spot): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const along = ((point.x - from.x) * dx + (point.y - from.y) * dy) / (dx * dx + dy * dy || 1);
  const share = Math.max(0, Math.min(1, along));
  const [x, y] = [point.x - from.x - share * dx, point.y - from.y - share * dy];
  return Math.sqrt(x * x + y * y);
}
