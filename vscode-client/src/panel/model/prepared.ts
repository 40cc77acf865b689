/**
 * Two flows as they are to be drawn: folded, measured, and laid out for before, after and both.
 *
 * Invariant: a call stands at one place across the flow in all three pictures, and with an anchor it stands at the same place in all of them.
 */
import { across } from "../layout/across";
import { aligned, anchorOf, between, type FlowBox, starts } from "../layout/flow";
import { drawing, type FlowDrawing, waitsOf } from "../layout/flowShapes";
import { type Lane, laned, LANES_FROM } from "../layout/lanes";
import type { Flow as Direction } from "../layout/types";
import type { Flow } from "./flow";
import { flowBoxes } from "./flowBoxes";
import { foldEqual, groupRepeats } from "./fold";
import { strandsOf } from "./flowStrands";
import { type Join, joinsOf } from "./joins";
import type { Significance } from "./significance";
import type { Measure } from "./sizes";

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
  boxes: FlowBox[];
  /** The low sides of the boxes across the flow. */
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

export function folded({ flow, found, repeats, equal, opened }: Wish): Flow {
  const grouped = repeats ? groupRepeats(flow, opened) : flow;
  return equal ? foldEqual(grouped, found, opened) : grouped;
}

export function prepare(wish: Wish, shown: Flow, direction: Direction, measure: Measure): Prepared {
  const boxes = flowBoxes(shown, wish.flow, direction, measure);
  const holder = shown.calls.find((call) => call.members.some((one) => one.id === wish.anchor));
  const anchor = holder ? anchorOf(boxes, holder.id) : "";
  const before = starts(boxes, "before");
  const after = starts(boxes, "after");
  const union = starts(boxes, "union");
  const joins = [joinsOf(shown, "before"), joinsOf(shown, "after")] as const;
  const pictures = [before, after, union];
  const place = (): ReturnType<typeof laned> => {
    if (isLaned(shown)) return laned(boxes, pictures, strandsOf(shown));
    const waits = [
      ...waitsOf(boxes, before, joins[0]),
      ...waitsOf(boxes, after, joins[1]),
      ...waitsOf(boxes, union, joins.flat()),
    ];
    return { lows: across(boxes, pictures, waits), lanes: [] };
  };
  // Without an anchor both sides begin at the same place; the roots stand there.
  return {
    flow: shown,
    boxes,
    ...place(),
    before,
    after: anchor ? aligned(boxes, before, after, anchor) : after,
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
  const { boxes, lows, joins, lanes, direction } = prepared;
  const shown = picture === "union" ? joins : joins.filter((join) => join.side === picture);
  return drawing(boxes, lows, prepared[picture], picture, direction, { joins: shown, lanes });
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
  const { boxes, lows, lanes, before, after, direction } = prepared;
  const now = between(before, after, time);
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const opacity = (id: string): number => {
    const lengths = byId.get(id)?.lengths;
    return now.opacity({ before: lengths?.before !== null, after: lengths?.after !== null });
  };
  const shown = boxes
    .filter((box) => opacity(box.id) > 0)
    .map((box): FlowBox => {
      const { before: from, after: to } = box.lengths;
      const both = from !== null && to !== null;
      const length = both ? from + (to - from) * now.moved : null;
      return both ? { ...box, lengths: { before: length, after: length } } : box;
    });
  return { drawing: drawing(shown, lows, now.starts, "union", direction, { lanes, oneBar: true }), opacity };
}
