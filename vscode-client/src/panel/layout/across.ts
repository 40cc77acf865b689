/**
 * Where the calls of two flows stand across the flow: as close together as all their pictures allow, each at one place in all of them.
 *
 * Invariant: siblings keep their order, the first is straight below its caller, and what stands at the same height in any picture, or
 * between two, has the gap between; so opening a box moves only what is beside and after it.
 */
import { childrenOf, type FlowBox } from "./flow";

/** Between neighbours. */
export const ACROSS_GAP = 22;
/** The line of a call that waits at a join passes this far before it. */
export const WAIT_AT = 8;
/** Heights are told apart by cells of so many px. */
const CELL = 6;

/** A line that goes along the flow just before a call, from its height to that of a join. */
export interface Wait {
  id: string;
  from: number;
  to: number;
}

/** What a call and all below it take up: by cell along the flow, from where to where across it, the call's own low side being 0. */
interface Outline {
  first: number;
  low: number[];
  high: number[];
}

/** The low side of each box. `pictures`: where boxes begin along the flow, in each of the pictures. */
export function across(
  boxes: readonly FlowBox[],
  pictures: readonly ReadonlyMap<string, number>[],
  waits: readonly Wait[],
): Map<string, number> {
  const children = childrenOf(boxes);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const waiting = new Map<string, Wait[]>();
  for (const wait of waits) waiting.set(wait.id, [...(waiting.get(wait.id) ?? []), wait]);
  const offsets = new Map<string, number>();

  const outline = (box: FlowBox): Outline => {
    const found: Outline = { first: 0, low: [], high: [] };
    const [from, to] = range(box, byId, pictures);
    cover(found, from, to, 0, box.breadth);
    for (const wait of waiting.get(box.id) ?? []) cover(found, wait.from, wait.to, -WAIT_AT, -WAIT_AT);
    merge(found, beside(children.get(box.id) ?? []), 0);
    return found;
  };
  /** Branches in order, each as near to those before it as their outlines allow. */
  const beside = (branches: readonly FlowBox[]): Outline => {
    const all: Outline = { first: 0, low: [], high: [] };
    let least = 0;
    for (const box of branches) {
      const one = outline(box);
      const offset = Math.max(least, clearance(all, one));
      offsets.set(box.id, offset);
      merge(all, one, offset);
      least = offset + box.breadth + ACROSS_GAP;
    }
    return all;
  };
  beside(children.get("") ?? []);
  const found = new Map<string, number>();
  for (const box of boxes) found.set(box.id, (found.get(box.parent) ?? 0) + (offsets.get(box.id) ?? 0));
  return found;
}

/** From the end of the call above to its own end, over all pictures: its edge is drawn in between. */
function range(
  box: FlowBox,
  byId: ReadonlyMap<string, FlowBox>,
  pictures: readonly ReadonlyMap<string, number>[],
): [number, number] {
  let [from, to] = [Infinity, -Infinity];
  for (const starts of pictures) {
    const start = starts.get(box.id);
    if (start === undefined) continue;
    let above = byId.get(box.parent);
    while (above && !starts.has(above.id)) above = byId.get(above.parent);
    from = Math.min(from, above ? (starts.get(above.id) ?? 0) + above.depth : start);
    to = Math.max(to, start + box.depth);
  }
  return [from, to];
}

function cover(outline: Outline, from: number, to: number, low: number, high: number): void {
  const [first, last] = [Math.floor(from / CELL), Math.ceil(to / CELL)];
  if (!(last >= first)) return;
  const one: Outline = { first, low: [], high: [] };
  for (let cell = first; cell <= last; cell += 1) {
    one.low.push(low);
    one.high.push(high);
  }
  merge(outline, one, 0);
}

/** Adds what another takes up, moved by `offset`. */
function merge(into: Outline, one: Outline, offset: number): void {
  if (one.low.length === 0) return;
  const first = into.low.length === 0 ? one.first : Math.min(into.first, one.first);
  const end = Math.max(into.low.length === 0 ? first : into.first + into.low.length, one.first + one.low.length);
  const [low, high]: [number[], number[]] = [[], []];
  for (let cell = first; cell < end; cell += 1) {
    const [mine, theirs] = [cell - into.first, cell - one.first];
    low.push(Math.min(into.low[mine] ?? Infinity, (one.low[theirs] ?? Infinity) + offset));
    high.push(Math.max(into.high[mine] ?? -Infinity, (one.high[theirs] ?? -Infinity) + offset));
  }
  into.first = first;
  into.low = low;
  into.high = high;
}

/** How far `next` has to be moved to be clear of `all`; 0 where they share no height. */
function clearance(all: Outline, next: Outline): number {
  let least = 0;
  next.low.forEach((low, index) => {
    const high = all.high[next.first + index - all.first] ?? -Infinity;
    least = Math.max(least, high + ACROSS_GAP - low);
  });
  return least;
}
