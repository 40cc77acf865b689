/**
 * The untangled layout: searches positions where lines cross fewer than 3 times and pass over no entity, for graphs such as rings with
 * fingers or hypercubes that neither the concentric nor the force layout shows clearly.
 *
 * The direct contents of a container are placed on a lattice, first by the initial spacing, then by random moves and swaps with a
 * falling chance of worse results (annealing). At last containers are rotated towards each other. The result depends only on the input.
 * Invariant: no two entities touch, and contents stay within their container.
 */
import { ring } from "../concentric";
import { type Group, groups } from "../groups";
import { numbers } from "../randomNumbers";
import { initialSpacing } from "../spacing";
import { Crossings } from "./crossings";
import { rotate } from "./rotate";
import type { EntityInput, Place, Spot } from "../types";

/** Tests of two lines in all, about: what decides how long the search takes. */
const TESTS = 50_000_000;
const [MOST_MOVES, MOVES_EACH] = [40_000, 1_500];
/** Larger groups stay as they are spread. */
const [MOST_MEMBERS, MOST_LINES] = [250, 600];
/** Spots of the lattice for each member. */
const ROOM = 3;
/** Of the lattice's distance: a member's radius. */
const RADIUS = 0.22;
const [HOT, COLD] = [4, 0.05];

export function untangle(input: EntityInput): Place[] {
  const found = new Map<number, Place>();
  for (const group of groups(input)) {
    const around = found.get(group.container) ?? { id: -1, x: 0, y: 0, radius: input.radius };
    arranged(group, around.radius).forEach((place, member) => {
      const id = group.members[member];
      if (id !== undefined) found.set(id, { ...place, id, x: around.x + place.x, y: around.y + place.y });
    });
  }
  const places = input.entities.flatMap(({ id }) => found.get(id) ?? []);
  return rotate(input, places);
}

/** Around (0, 0). */
function arranged(group: Group, radius: number): Place[] {
  const count = group.members.length;
  if (count < 5 || !group.inner.length) return ring(count, { id: -1, x: 0, y: 0, radius });
  const { spots, distance } = lattice(count * ROOM, radius);
  const size = RADIUS * distance;
  const wanted = [initialSpacing(count, group.inner), ring(count, { id: -1, x: 0, y: 0, radius: 1 })];
  const starts = wanted.map((places) => taken(fitted(places, radius), spots));
  const tangles = starts.map(
    (taken) =>
      new Crossings(
        taken.map((spot) => spots[spot] ?? { x: 0, y: 0 }),
        group.inner,
        size,
        2 * radius,
      ),
  );
  const first = (tangles[0]?.cost ?? 0) <= (tangles[1]?.cost ?? 0) ? 0 : 1;
  const [tangle, start] = [tangles[first], starts[first] ?? []];
  if (!tangle) return [];
  if (count <= MOST_MEMBERS && group.inner.length <= MOST_LINES) anneal(tangle, start, spots, group.inner.length);
  return group.members.map((_, member) => ({ id: -1, ...tangle.at(member), radius: size }));
}

/** Points of a triangular lattice in a circle, none of which is in line with many others. */
function lattice(count: number, radius: number): { spots: Spot[]; distance: number } {
  let distance = radius * Math.sqrt((2 * Math.PI) / (Math.sqrt(3) * count));
  for (;;) {
    const [height, limit] = [(distance * Math.sqrt(3)) / 2, radius - 2 * RADIUS * distance];
    const spots: Spot[] = [];
    const choose = numbers(7);
    for (let row = -Math.ceil(radius / height); row * height <= radius; row++) {
      for (let column = -Math.ceil(radius / distance) - 1; column * distance <= radius + distance; column++) {
        const [x, y] = [(column + (row % 2 ? 0.5 : 0)) * distance, row * height];
        const [dx, dy] = [(choose() - 0.5) * 0.3 * distance, (choose() - 0.5) * 0.3 * distance];
        if (Math.hypot(x, y) <= limit) spots.push({ x: x + dx, y: y + dy });
      }
    }
    if (spots.length >= count) return { spots, distance };
    distance *= 0.95;
  }
}

function fitted(places: readonly Spot[], radius: number): Spot[] {
  const far = Math.max(...places.map(({ x, y }) => Math.hypot(x, y))) || 1;
  return places.map(({ x, y }) => ({ x: (x * radius * 0.9) / far, y: (y * radius * 0.9) / far }));
}

/** For each the nearest spot that is free, those in the middle first. */
function taken(places: readonly Spot[], spots: readonly Spot[]): number[] {
  const free = new Set(spots.keys());
  const found = new Array<number>(places.length).fill(0);
  const order = [...places.keys()].sort((a, b) => size(places[a]) - size(places[b]) || a - b);
  for (const member of order) {
    const { x, y } = places[member] ?? { x: 0, y: 0 };
    let [best, least] = [0, Infinity];
    for (const spot of free) {
      const far = Math.hypot((spots[spot]?.x ?? 0) - x, (spots[spot]?.y ?? 0) - y);
      if (far < least) [best, least] = [spot, far];
    }
    free.delete(best);
    found[member] = best;
  }
  return found;
}

function size(spot: Spot | undefined): number {
  return spot ? Math.hypot(spot.x, spot.y) : 0;
}

/** Moves a member to a free spot, or exchanges it with the one there. */
function anneal(tangle: Crossings, start: readonly number[], spots: readonly Spot[], lines: number): void {
  const choose = numbers(1);
  const spotOf = [...start];
  const holder = new Map(start.map((spot, member) => [spot, member]));
  const each = (2 * lines * (lines + spotOf.length)) / spotOf.length + lines;
  const moves = Math.min(MOST_MOVES, MOVES_EACH * spotOf.length, Math.round(TESTS / each));
  for (let round = 0; round < moves && tangle.cost > 0; round++) {
    const heat = HOT * (COLD / HOT) ** (round / moves);
    const member = Math.floor(choose() * spotOf.length);
    const to = Math.floor(choose() * spots.length);
    const from = spotOf[member] ?? 0;
    if (to === from) continue;
    const other = holder.get(to);
    const members = other === undefined ? [member] : [member, other];
    const [here, there] = [spots[from], spots[to]];
    if (!here || !there) continue;
    const before = tangle.cost;
    tangle.move(members, [there, here]);
    if (tangle.cost > before && choose() >= Math.exp((before - tangle.cost) / heat)) {
      tangle.undo();
      continue;
    }
    spotOf[member] = to;
    holder.set(to, member);
    if (other === undefined) holder.delete(from);
    else {
      spotOf[other] = from;
      holder.set(from, other);
    }
  }
}
