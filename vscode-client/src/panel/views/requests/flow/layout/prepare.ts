/**
 * Prepares two flows for drawing: folds, measures and lays them out for before, after and both.
 *
 * Invariant: a call has one position across the flow in all three pictures; the anchor has the same position in all of them.
 */
import { crossAxis } from "./crossAxis";
import { alignTimes, anchorOf, inBetween, type FlowNode, starts } from "./flow";
import { drawing, type FlowDrawing, waitsOf } from "./shapes";
import { type Lane, laneLayout, LANES_FROM } from "./lanes";
import type { Flow as Direction } from "../../../../graph/layout/types";
import type { Flow } from "../model/flow";
import { flowNodes } from "../model/nodeTexts";
import { foldEqual, groupRepeats } from "../model/folding";
import { strandsOf } from "../model/strands";
import { type Join, joinsOf } from "../model/joins";
import type { Significance } from "../model/significance";
import type { Measure } from "../../../../graph/sizes";

export interface Wish {
  flow: Flow;
  found: Significance;
  /** Are repeats grouped, is what is equal folded? */
  repeats: boolean;
  equal: boolean;
  opened: ReadonlySet<string>;
  /** A call of the flow, "" for none. */
  anchor: string;
}

export interface Prepared {
  flow: Flow;
  boxes: FlowNode[];
  /** The low sides of the nodes across the flow. */
  lows: ReadonlyMap<string, number>;
  before: ReadonlyMap<string, number>;
  after: ReadonlyMap<string, number>;
  union: ReadonlyMap<string, number>;
  joins: readonly Join[];
  /** None where the flow is drawn as a tree. */
  lanes: readonly Lane[];
  /** What is drawn at the same place on both sides, "" without an anchor. */
  anchor: string;
  direction: Direction;
}

export function fold({ flow, found, repeats, equal, opened }: Wish): Flow {
  const grouped = repeats ? groupRepeats(flow, opened) : flow;
  return equal ? foldEqual(grouped, found, opened) : grouped;
}

export function prepare(wish: Wish, shown: Flow, direction: Direction, measure: Measure): Prepared {
  const nodes = flowNodes(shown, wish.flow, direction, measure);
  const holder = shown.calls.find((call) => call.members.some((one) => one.id === wish.anchor));
  const anchor = holder ? anchorOf(nodes, holder.id) : "";
  const before = starts(nodes, "before");
  const after = starts(nodes, "after");
  const union = starts(nodes, "union");
  const joins = [joinsOf(shown, "before"), joinsOf(shown, "after")] as const;
  const pictures = [before, after, union];
  const place = (): ReturnType<typeof laneLayout> => {
    if (isLaned(shown)) return laneLayout(nodes, pictures, strandsOf(shown));
    const waits = [
      ...waitsOf(nodes, before, joins[0]),
      ...waitsOf(nodes, after, joins[1]),
      ...waitsOf(nodes, union, joins.flat()),
    ];
    return { lows: crossAxis(nodes, pictures, waits), lanes: [] };
  };
  // Without an anchor both sides begin at the same place; the roots stand there.
  return {
    flow: shown,
    boxes: nodes,
    ...place(),
    before,
    after: anchor ? alignTimes(nodes, before, after, anchor) : after,
    union,
    joins: joins.flat(),
    anchor,
    direction,
  };
}

/** Is what is shown too much for a tree? */
export function isLaned(shown: Flow): boolean {
  return shown.calls.length >= LANES_FROM;
}

/** The picture of one side, or of both as one. */
export function pictureOf(prepared: Prepared, picture: "before" | "after" | "union"): FlowDrawing {
  const { boxes: nodes, lows, joins, lanes, direction } = prepared;
  const shown = picture === "union" ? joins : joins.filter((join) => join.side === picture);
  return drawing(nodes, lows, prepared[picture], picture, direction, { joins: shown, lanes });
}

/** The direction in which the picture of both is drawn larger in a window of this width and height. */
export function betterDirection(pictures: Record<Direction, FlowDrawing>, width: number, height: number): Direction {
  const scale = ({ frame }: FlowDrawing): number =>
    Math.min(width / Math.max(frame.width, 1), height / Math.max(frame.height, 1));
  return scale(pictures.right) > scale(pictures.down) ? "right" : "down";
}

/** A picture between before (0) and after (1), with how visible each call is; what cannot be seen is not in it. */
export function betweenPicture(
  prepared: Prepared,
  time: number,
): { drawing: FlowDrawing; opacity: (id: string) => number } {
  const { boxes: nodes, lows, lanes, before, after, direction } = prepared;
  const now = inBetween(before, after, time);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const opacity = (id: string): number => {
    const lengths = byId.get(id)?.lengths;
    return now.opacity({ before: lengths?.before !== null, after: lengths?.after !== null });
  };
  const shown = nodes
    .filter((node) => opacity(node.id) > 0)
    .map((node): FlowNode => {
      const { before: from, after: to } = node.lengths;
      const both = from !== null && to !== null;
      const length = both ? from + (to - from) * now.moved : null;
      return both ? { ...node, lengths: { before: length, after: length } } : node;
    });
  return { drawing: drawing(shown, lows, now.starts, "union", direction, { lanes, oneBar: true }), opacity };
}
