/**
 * Chooses the lines between the same calls of two pictures: only lines where the pictures differ are drawn.
 *
 * Invariant: the number of lines is bounded; without a selection only calls that moved relative to their parent have lines.
 */
import type { FlowNode } from "./flow";

/** Less is not seen (px). */
const SEEN = 3;

/** Calls that moved, what moved most first: those whose shift is not that of the nearest call above that both sides have. */
export function movedCalls(
  nodes: readonly FlowNode[],
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): string[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const shift = (id: string): number | undefined => {
    const [from, to] = [before.get(id), after.get(id)];
    return from === undefined || to === undefined ? undefined : to - from;
  };
  const above = (node: FlowNode): number => {
    for (let up = byId.get(node.parent); up; up = byId.get(up.parent)) {
      const known = shift(up.id);
      if (known !== undefined) return known;
    }
    return 0;
  };
  return nodes
    .flatMap((node) => {
      const own = shift(node.id);
      return own === undefined ? [] : [{ id: node.id, by: Math.abs(own - above(node)) }];
    })
    .filter((one) => one.by > SEEN)
    .sort((a, b) => b.by - a.by)
    .map((one) => one.id);
}

/** `first` and then the others, both in their order, no more than `bound`; and how many are left out. */
export function boundedLines(
  first: readonly string[],
  others: readonly string[],
  bound: number,
): { shown: string[]; hidden: number } {
  const all = [...new Set([...first, ...others])];
  return { shown: all.slice(0, bound), hidden: Math.max(0, all.length - bound) };
}
