/**
 * Places the calls of two flows across the flow: as close together as all pictures allow, each at one position in all of them.
 *
 * Invariant: siblings keep their order, the first is straight below its caller, and calls at the same height in any picture, or between
 * two, keep the gap. So opening a node moves only the nodes next to it and after it.
 */
import { childrenOf, type FlowNode } from "./flow";

/** Between neighbours. */
export const ACROSS_GAP = 22;
/** The line of a call that waits at a join passes this far before it. */
export const WAIT_AT = 8;
/** Heights are compared by cells of this many px. */
const CELL = 6;

/** A line that goes along the flow just before a call, from its height to that of a join. */
export interface Wait {
  id: string;
  from: number;
  to: number;
}

/**
 * What a call and all below it take up: by cell along the flow, from where to where across it, the call's own low side being 0.
 *
 * Cells stand from the last one back to the first, as calls are put before what they call: that is the end of an array.
 */
interface Outline {
  /** The cell after the last one. */
  end: number;
  low: number[];
  high: number[];
  /** Added to all values, so that a whole outline is moved at once. */
  shift: number;
}

/** The low side of each node. `pictures`: where nodes begin along the flow, in each of the pictures. */
export function crossAxis(
  nodes: readonly FlowNode[],
  pictures: readonly ReadonlyMap<string, number>[],
  waits: readonly Wait[],
): Map<string, number> {
  const children = childrenOf(nodes);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const waiting = new Map<string, Wait[]>();
  for (const wait of waits) {
    const known = waiting.get(wait.id);
    if (known) known.push(wait);
    else waiting.set(wait.id, [wait]);
  }
  const offsets = new Map<string, number>();

  const outline = (node: FlowNode): Outline => {
    const [from, to] = range(node, byId, pictures);
    let found = joined(beside(children.get(node.id) ?? []), covered(from, to, 0, node.breadth), 0);
    for (const wait of waiting.get(node.id) ?? []) {
      found = joined(found, covered(wait.from, wait.to, -WAIT_AT, -WAIT_AT), 0);
    }
    return found;
  };
  /** Branches in order, each as near to those before it as their outlines allow. */
  const beside = (branches: readonly FlowNode[]): Outline => {
    let all = covered(0, -Infinity, 0, 0);
    let least = 0;
    for (const node of branches) {
      const one = outline(node);
      const offset = Math.max(least, clearance(all, one));
      offsets.set(node.id, offset);
      all = joined(all, one, offset);
      least = offset + node.breadth + ACROSS_GAP;
    }
    return all;
  };
  beside(children.get("") ?? []);
  const found = new Map<string, number>();
  for (const node of nodes) found.set(node.id, (found.get(node.parent) ?? 0) + (offsets.get(node.id) ?? 0));
  return found;
}

/** From the end of the call above to its own end, over all pictures: its edge is drawn in between. */
function range(
  node: FlowNode,
  byId: ReadonlyMap<string, FlowNode>,
  pictures: readonly ReadonlyMap<string, number>[],
): [number, number] {
  let [from, to] = [Infinity, -Infinity];
  for (const starts of pictures) {
    const start = starts.get(node.id);
    if (start === undefined) continue;
    let above = byId.get(node.parent);
    while (above && !starts.has(above.id)) above = byId.get(above.parent);
    from = Math.min(from, above ? (starts.get(above.id) ?? 0) + above.depth : start);
    to = Math.max(to, start + node.depth);
  }
  return [from, to];
}

function covered(from: number, to: number, low: number, high: number): Outline {
  const [first, last] = [Math.floor(from / CELL), Math.ceil(to / CELL)];
  const cells = last >= first ? last - first + 1 : 0;
  return {
    end: last + 1,
    low: new Array<number>(cells).fill(low),
    high: new Array<number>(cells).fill(high),
    shift: 0,
  };
}

/** What both take up, the second moved by `offset`. The longer one of them is made use of, so that little is copied. */
function joined(one: Outline, other: Outline, offset: number): Outline {
  other.shift += offset;
  if (other.low.length === 0) return one;
  if (one.low.length === 0) return other;
  const [into, from] = one.low.length < other.low.length ? [other, one] : [one, other];
  const after = from.end - into.end;
  if (after > 0) {
    into.low = [...new Array<number>(after).fill(Infinity), ...into.low];
    into.high = [...new Array<number>(after).fill(-Infinity), ...into.high];
    into.end = from.end;
  }
  const begin = into.end - from.end;
  while (into.low.length < begin + from.low.length) {
    into.low.push(Infinity);
    into.high.push(-Infinity);
  }
  const moved = from.shift - into.shift;
  for (let index = 0; index < from.low.length; index += 1) {
    const at = begin + index;
    into.low[at] = Math.min(into.low[at] ?? Infinity, (from.low[index] ?? Infinity) + moved);
    into.high[at] = Math.max(into.high[at] ?? -Infinity, (from.high[index] ?? -Infinity) + moved);
  }
  return into;
}

/** How far `next` has to be moved to be clear of `all`; 0 where they share no height. */
function clearance(all: Outline, next: Outline): number {
  let least = 0;
  const begin = all.end - next.end;
  const last = Math.min(next.low.length, all.high.length - begin);
  for (let index = Math.max(0, -begin); index < last; index += 1) {
    const high = (all.high[begin + index] ?? -Infinity) + all.shift;
    least = Math.max(least, high + ACROSS_GAP - (next.low[index] ?? Infinity) - next.shift);
  }
  return least;
}
