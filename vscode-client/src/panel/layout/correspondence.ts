/**
 * Which lines between the same calls of two pictures are worth drawing: those at which the pictures part.
 *
 * Invariant: never more than the bound; with nothing chosen only calls that lie elsewhere relative to what they hang from.
 */
import type { FlowBox } from "./flow";

/** Less is not seen (px). */
const SEEN = 3;

/** Calls that moved, what moved most first: those whose shift is not that of the nearest call above that both sides have. */
export function moved(
  boxes: readonly FlowBox[],
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): string[] {
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const shift = (id: string): number | undefined => {
    const [from, to] = [before.get(id), after.get(id)];
    return from === undefined || to === undefined ? undefined : to - from;
  };
  const above = (box: FlowBox): number => {
    for (let up = byId.get(box.parent); up; up = byId.get(up.parent)) {
      const known = shift(up.id);
      if (known !== undefined) return known;
    }
    return 0;
  };
  return boxes
    .flatMap((box) => {
      const own = shift(box.id);
      return own === undefined ? [] : [{ id: box.id, by: Math.abs(own - above(box)) }];
    })
    .filter((one) => one.by > SEEN)
    .sort((a, b) => b.by - a.by)
    .map((one) => one.id);
}

/** `first` and then the others, both in their order, no more than `bound`; and how many are left out. */
export function bounded(
  first: readonly string[],
  others: readonly string[],
  bound: number,
): { shown: string[]; hidden: number } {
  const all = [...new Set([...first, ...others])];
  return { shown: all.slice(0, bound), hidden: Math.max(0, all.length - bound) };
}
