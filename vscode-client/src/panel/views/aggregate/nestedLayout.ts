/**
 * Places nodes that open in place: the contents of a node are in a separate frame to the right of the node's own frame.
 *
 * Invariant: a node keeps its place and its order as long as it exists, regardless of what is opened or closed. Frames do not overlap.
 */
import { edgeRoute } from "../../graph/layout/edgeRoute";
import type { Layout, PlacedNode } from "../../graph/layout/types";

export interface Group {
  id: string;
  /** The node that was opened, a member of a group that is listed before; "" for the outermost group. */
  anchor: string;
  /** Boxes, opened ones included. */
  members: readonly string[];
}

export interface Frame {
  x: number;
  y: number;
  columns: number;
  /** By member its place, row by row. */
  slots: ReadonlyMap<string, number>;
}

export type Nested = ReadonlyMap<string, Frame>;

export interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

export const NODE = { width: 232, height: 48 };
/** Room for the words above the nodes of a frame. */
export const HEAD = 30;
const PADDING = 18;
const BETWEEN = { x: 84, y: 26 };
const BETWEEN_FRAMES = { x: 104, y: 24 };
const ROW = NODE.height + BETWEEN.y;
/** Most nodes of a group in one column, and in two. */
const ONE_COLUMN = 6;
const TWO_COLUMNS = 20;
/** Edges of both directions between two nodes are so far apart. */
const APART = 9;

/** Groups that were there keep their frames. */
export function nest(before: Nested | undefined, groups: readonly Group[]): Nested {
  const frames = new Map<string, Frame>();
  for (const group of groups) {
    const old = before?.get(group.id);
    const slots = slotsOf(old, group.members);
    if (old) frames.set(group.id, { ...old, slots });
  }
  for (const group of groups) {
    const slots = frames.get(group.id)?.slots ?? slotsOf(undefined, group.members);
    const kept = frames.get(group.id);
    if (kept && isFree(rectangle(kept), frames, group.id)) continue;
    // It is new, or has grown into another one.
    frames.delete(group.id);
    const home = groups.find((one) => one.members.includes(group.anchor));
    const around = home && frames.get(home.id);
    const columns = kept?.columns ?? columnsFor(group.members.length);
    const at = around ? nodeIn(around, group.anchor) : undefined;
    const x = around ? rectangle(around).right + BETWEEN_FRAMES.x : 0;
    const frame = { x, y: at ? at.y - NODE.height / 2 - HEAD : 0, columns, slots };
    frames.set(group.id, { ...frame, y: freeBelow(frame, frames) });
  }
  return frames;
}

/** What stays keeps its place, what is new takes the first ones that are free. */
function slotsOf(old: Frame | undefined, members: readonly string[]): ReadonlyMap<string, number> {
  const taken = new Set(members.flatMap((member) => old?.slots.get(member) ?? []));
  let next = 0;
  return new Map(
    members.map((member) => {
      const kept = old?.slots.get(member);
      if (kept !== undefined) return [member, kept];
      while (taken.has(next)) next += 1;
      taken.add(next);
      return [member, next];
    }),
  );
}

function columnsFor(members: number): number {
  return members <= ONE_COLUMN ? 1 : members <= TWO_COLUMNS ? 2 : 3;
}

export function rectangle({ x, y, columns, slots }: Frame): Rectangle {
  const rows = Math.floor(Math.max(0, ...slots.values()) / columns) + 1;
  return {
    left: x,
    top: y,
    right: x + 2 * PADDING + columns * NODE.width + (columns - 1) * BETWEEN.x,
    bottom: y + HEAD + PADDING + rows * ROW - BETWEEN.y,
  };
}

function nodeIn(frame: Frame, id: string): PlacedNode {
  const slot = frame.slots.get(id) ?? 0;
  const column = slot % frame.columns;
  return {
    id,
    ...NODE,
    x: frame.x + PADDING + column * (NODE.width + BETWEEN.x) + NODE.width / 2,
    y: frame.y + HEAD + Math.floor(slot / frame.columns) * ROW + NODE.height / 2,
  };
}

function isFree(wanted: Rectangle, frames: Nested, own: string): boolean {
  return [...frames].every(([id, frame]) => id === own || !overlap(wanted, rectangle(frame)));
}

/** Includes the room between frames. */
function overlap(a: Rectangle, b: Rectangle): boolean {
  const { x, y } = BETWEEN_FRAMES;
  const beside = a.left < b.right + x / 2 && b.left < a.right + x / 2;
  return beside && a.top < b.bottom + y && b.top < a.bottom + y;
}

/** The first y from the frame's own on where it overlaps no other. */
function freeBelow(frame: Frame, frames: Nested): number {
  let { y } = frame;
  for (;;) {
    const at = rectangle({ ...frame, y });
    const inTheWay = [...frames.values()].map(rectangle).find((other) => overlap(at, other));
    if (!inTheWay) return y;
    y = inTheWay.bottom + BETWEEN_FRAMES.y;
  }
}

export interface NestedLink {
  id: string;
  source: string;
  target: string;
}

/** The nodes in their frames, and edges between them. */
export function nestedLayout(nested: Nested, links: readonly NestedLink[]): Layout {
  const nodes = [...nested.values()].flatMap((frame) => [...frame.slots.keys()].map((id) => nodeIn(frame, id)));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const routes = links.flatMap(({ id, source, target }) => {
    const [from, to] = [byId.get(source), byId.get(target)];
    if (!from || !to) return [];
    // Backward edges run parallel to forward edges.
    const by = to.x < from.x ? APART : -APART;
    const shifted = from.x === to.x ? 0 : by;
    return [edgeRoute(id, { ...from, y: from.y + shifted }, { ...to, y: to.y + shifted }, ROW)];
  });
  const all = [...nested.values()].map(rectangle);
  const size = (low: (one: Rectangle) => number, high: (one: Rectangle) => number): number =>
    all.length === 0 ? 0 : Math.max(...all.map(high)) - Math.min(...all.map(low));
  return {
    nodes,
    routes,
    width: size(
      (one) => one.left,
      (one) => one.right,
    ),
    height: size(
      (one) => one.top,
      (one) => one.bottom,
    ),
    flow: "right",
  };
}
