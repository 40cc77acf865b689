/**
 * Rotates the contents of containers and swaps their members as long as more lines between containers become clear. Each container was
 * arranged alone, so these lines are arbitrary at first.
 *
 * The result depends only on the input. Invariant: contents stay in their container, at a distance from its middle that some member had
 * before.
 */
import { clarity, isBetter } from "../clarity";
import { pathsOf } from "../groups";
import { numbers } from "../randomNumbers";
import type { EntityInput, Place, Spot } from "../types";

/** Tests of two lines, or of a line and an entity, about: what decides how long it takes. */
const TESTS = 1_500_000;
const MOST_TRIES = 500;

/** Of each container the places of what is right in it; -1 for the outermost ones. */
type Within = ReadonlyMap<number, readonly number[]>;

export function rotate(input: EntityInput, places: readonly Place[]): Place[] {
  const within = members(input, places);
  const movable = [...within.keys()].filter((container) => (within.get(container)?.length ?? 0) > 1);
  let best = [...places];
  if (within.size < 2 || movable.length === 0) return best;
  let known = clarity(input, best);
  const tries = Math.min(MOST_TRIES, Math.round(TESTS / (known.lines * (known.lines / 2 + best.length) + 1)));
  const choose = numbers(3);
  const below = (count: number): number => Math.floor(choose() * count);
  for (let round = 0; round < tries && !known.cleared; round++) {
    const container = movable[below(movable.length)] ?? -1;
    const group = within.get(container) ?? [];
    const next = [...best];
    if (choose() < 0.5) exchange(next, within, group[below(group.length)], group[below(group.length)]);
    else {
      const middle = best.find(({ id }) => id === container) ?? { x: 0, y: 0 };
      turn(next, group, middle, choose() * 2 * Math.PI, within);
    }
    const found = clarity(input, next);
    if (isBetter(known, found)) continue;
    [best, known] = [next, found];
  }
  return best;
}

function members(input: EntityInput, places: readonly Place[]): Within {
  const paths = pathsOf(input);
  const found = new Map<number, number[]>();
  places.forEach(({ id }, at) => {
    const container = paths.get(id)?.at(-2) ?? -1;
    found.set(container, [...(found.get(container) ?? []), at]);
  });
  return found;
}

function exchange(places: Place[], within: Within, a = -1, b = -1): void {
  const [one, other] = [places[a], places[b]];
  // A larger one could stand on its new neighbours.
  if (!other || one?.radius !== other.radius) return;
  shift(places, a, other.x - one.x, other.y - one.y, within);
  shift(places, b, one.x - other.x, one.y - other.y, within);
}

/** Around the middle of what they are in. */
function turn(places: Place[], group: readonly number[], middle: Spot, angle: number, within: Within): void {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  for (const at of group) {
    const place = places[at];
    if (!place) continue;
    const [dx, dy] = [place.x - middle.x, place.y - middle.y];
    shift(places, at, dx * cos - dy * sin - dx, dx * sin + dy * cos - dy, within);
  }
}

/** With all that is in it. */
function shift(places: Place[], at: number, dx: number, dy: number, within: Within): void {
  const place = places[at];
  if (!place) return;
  places[at] = { ...place, x: place.x + dx, y: place.y + dy };
  for (const inner of within.get(place.id) ?? []) shift(places, inner, dx, dy, within);
}
