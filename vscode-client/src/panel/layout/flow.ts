/**
 * Where the calls of two flows stand: a tree whose edges are as long as their latencies, before, after, and as the union of both.
 *
 * Here is how far along the flow each stands; across it (`across`) it stands at the same place in all three. Invariant: no two boxes
 * overlap, in no picture and at no time between two; siblings keep their order; no edge of the tree passes over a box.
 *
 * The flow goes down, its first branch straight; `turned` makes it go right.
 */

export type Picture = "before" | "after" | "union";
export type Side = "before" | "after";

export interface FlowBox {
  id: string;
  /** Across the flow, and along it. */
  breadth: number;
  depth: number;
  /** Where it hangs, "" at a root. */
  parent: string;
  /** Who calls it, "" for nobody who is drawn. */
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

/** How far along the flow each box of a picture begins. A call that the picture does not have takes no room. */
export function starts(boxes: readonly FlowBox[], picture: Picture): Map<string, number> {
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const found = new Map<string, number>();
  const ends = new Map<string, number>();
  const sides = sidesOf(picture);
  const end = (id: string): number => {
    const known = ends.get(id);
    const box = byId.get(id);
    if (known !== undefined) return known;
    if (!box) return -PARTING;
    ends.set(id, 0); // callers come before what they call; a circle from elsewhere ends here
    const there = isIn(box, picture);
    let low = -PARTING;
    let isCalled = false;
    if (byId.has(box.parent)) low = Math.max(low, end(box.parent));
    for (const side of sides) {
      const caller = box.callers[side];
      if (box.lengths[side] === null || !caller) continue;
      isCalled = true;
      if (caller !== box.parent && byId.has(caller)) low = Math.max(low, end(caller));
    }
    const edge = isCalled ? Math.max(lengthIn(box, picture), box.room) : 0;
    const start = there ? low + PARTING + edge : low;
    if (there) found.set(id, start);
    ends.set(id, start + (there ? box.depth : 0));
    return ends.get(id) ?? start;
  };
  for (const box of boxes) end(box.id);
  return found;
}

/** `after` moved along the flow so that the anchor is exactly where it is in `before`. */
export function aligned(
  boxes: readonly FlowBox[],
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  anchor: string,
): Map<string, number> {
  const at = anchorOf(boxes, anchor);
  const shift = (before.get(at) ?? 0) - (after.get(at) ?? 0);
  return new Map([...after].map(([id, start]) => [id, id === at ? (before.get(at) ?? start) : start + shift]));
}

/** The call itself where both sides have it, else the nearest above it that both have; "" where there is none. */
export function anchorOf(boxes: readonly FlowBox[], id: string): string {
  const byId = new Map(boxes.map((box) => [box.id, box]));
  let box = byId.get(id);
  while (box && !(isIn(box, "before") && isIn(box, "after"))) box = byId.get(box.parent);
  return box?.id ?? "";
}

/** A picture between two: first what only one side has fades, then what both have moves, then the rest appears. */
export function between(
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

export function isIn(box: FlowBox, picture: Picture): boolean {
  return picture === "union" || box.lengths[picture] !== null;
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
export function lengthIn(box: FlowBox, picture: Picture): number {
  let found = 0;
  for (const side of sidesOf(picture)) found = Math.max(found, box.lengths[side] ?? 0);
  return found;
}

export function childrenOf(boxes: readonly FlowBox[]): Map<string, FlowBox[]> {
  const found = new Map<string, FlowBox[]>();
  for (const box of boxes) {
    const known = found.get(box.parent);
    if (known) known.push(box);
    else found.set(box.parent, [box]);
  }
  return found;
}
