/**
 * Places the calls of two flows along the flow: a tree with edges as long as their latencies, for before, after, and the union of both.
 *
 * The position across the flow (`crossAxis`) is the same in all three. Invariant: no two nodes overlap, in no picture and at no time
 * between two; siblings keep their order; no edge of the tree passes over a node.
 *
 * The flow goes down, with a straight first branch; `turned` makes it go right.
 */

export type Picture = "before" | "after" | "union";
export type Side = "before" | "after";

export interface FlowNode {
  id: string;
  /** Across the flow, and along it. */
  breadth: number;
  depth: number;
  /** Where it hangs, "" at a root. */
  parent: string;
  /** The caller, "" if the caller is not drawn. */
  callers: Record<Side, string>;
  /** How long its edge is drawn, null on a side that does not have the call. */
  lengths: Record<Side, number | null>;
  /** The least room along the flow for its edge, labels included. */
  room: number;
}

/** Along the flow below a caller, in which its edges part. */
export const PARTING = 22;
/** Between what is drawn of a branch and the join below it. */
export const JOIN_GAP = 16;

/** How far along the flow each node of a picture begins. A call that the picture does not have takes no room. */
export function starts(nodes: readonly FlowNode[], picture: Picture): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const found = new Map<string, number>();
  const ends = new Map<string, number>();
  const sides = sidesOf(picture);
  const end = (id: string): number => {
    const known = ends.get(id);
    const node = byId.get(id);
    if (known !== undefined) return known;
    if (!node) return -PARTING;
    ends.set(id, 0); // callers come before what they call; a circle from elsewhere ends here
    const there = isIn(node, picture);
    let low = -PARTING;
    let isCalled = false;
    if (byId.has(node.parent)) low = Math.max(low, end(node.parent));
    for (const side of sides) {
      const caller = node.callers[side];
      if (node.lengths[side] === null || !caller) continue;
      isCalled = true;
      if (caller !== node.parent && byId.has(caller)) low = Math.max(low, end(caller));
    }
    const edge = isCalled ? Math.max(lengthIn(node, picture), node.room) : 0;
    const start = there ? low + PARTING + edge : low;
    if (there) found.set(id, start);
    ends.set(id, start + (there ? node.depth : 0));
    return ends.get(id) ?? start;
  };
  for (const node of nodes) end(node.id);
  return found;
}

/** `after` moved along the flow so that the anchor is exactly where it is in `before`. */
export function alignTimes(
  nodes: readonly FlowNode[],
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  anchor: string,
): Map<string, number> {
  const at = anchorOf(nodes, anchor);
  const shift = (before.get(at) ?? 0) - (after.get(at) ?? 0);
  return new Map([...after].map(([id, start]) => [id, id === at ? (before.get(at) ?? start) : start + shift]));
}

/** The call itself where both sides have it, else the nearest above it that both have; "" where there is none. */
export function anchorOf(nodes: readonly FlowNode[], id: string): string {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  let box = byId.get(id);
  while (box && !(isIn(box, "before") && isIn(box, "after"))) box = byId.get(box.parent);
  return box?.id ?? "";
}

/** A picture between two: first what only one side has fades, then what both have moves, then the rest appears. */
export function inBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  t: number,
): { starts: Map<string, number>; opacity: (sides: { before: boolean; after: boolean }) => number; moved: number } {
  const [gone, moved, come] = [stage(t, 0), smooth(stage(t, 1)), stage(t, 2)];
  const found = new Map<string, number>();
  for (const [id, start] of [...before, ...after]) {
    const [from, to] = [before.get(id), after.get(id)];
    if (from === undefined || to === undefined) found.set(id, start);
    else found.set(id, from + (to - from) * moved);
  }
  return {
    starts: found,
    opacity: (sides) => (sides.before && sides.after ? 1 : sides.before ? 1 - gone : come),
    moved,
  };
}

const STAGES = 3;

/** How far the stage of that number is at a time from 0 to 1. */
function stage(t: number, number: number): number {
  return Math.min(1, Math.max(0, t * STAGES - number));
}

function smooth(t: number): number {
  return t * t * (3 - 2 * t);
}

export function isIn(node: FlowNode, picture: Picture): boolean {
  return picture === "union" || node.lengths[picture] !== null;
}

/** The sides of a picture. */
export function sidesOf(picture: Picture): readonly Side[] {
  return SIDES_OF[picture];
}

const SIDES_OF: Record<Picture, readonly Side[]> = {
  before: ["before"],
  after: ["after"],
  union: ["before", "after"],
};

/** How long the edge is drawn: in the union as long as the longer of both. */
export function lengthIn(node: FlowNode, picture: Picture): number {
  let found = 0;
  for (const side of sidesOf(picture)) found = Math.max(found, node.lengths[side] ?? 0);
  return found;
}

export function childrenOf(nodes: readonly FlowNode[]): Map<string, FlowNode[]> {
  const found = new Map<string, FlowNode[]>();
  for (const node of nodes) {
    const known = found.get(node.parent);
    if (known) known.push(node);
    else found.set(node.parent, [node]);
  }
  return found;
}
