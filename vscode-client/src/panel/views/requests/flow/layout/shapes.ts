/**
 * The shapes of a flow with placed calls: nodes, edges with bars as long as the latencies, joins.
 *
 * Invariant: a bar is exactly as long as its latency is drawn and ends at the node of its call. Everything beyond the bar, waiting at a
 * join or space for other calls, is thin.
 */
import { type Wait, WAIT_AT } from "./crossAxis";
import { childrenOf, type FlowNode, isIn, JOIN_GAP, lengthIn, PARTING, type Picture, type Side, sidesOf } from "./flow";
import type { Lane } from "./lanes";
import type { Flow, PlacedNode, Point } from "../../../../graph/layout/types";

/** Where an edge enters and leaves a node, across the flow, from the node's low side. */
export const INLET = 20;
const CORNER = 8;
/** The background of a lane extends past its contents on both sides. */
const LANE_MARGIN = 12;
/** From a lane's low side to the middle of its name. */
const LANE_NAME_AT = 9;
/** A lane repeats its name after this many px, so that a name is always visible. */
const NAME_EVERY = 900;
/** Between the two bars of an edge. */
const BAR_GAP = 5;

export interface EdgeShape {
  id: string;
  caller: string;
  /** The sides on which that call is made by that caller. */
  sides: readonly Side[];
  /** From the caller to where the bars begin, as an SVG path. */
  path: string;
}

export interface BarShape {
  id: string;
  side: Side;
  from: Point;
  to: Point;
}

export interface LabelShape {
  id: string;
  at: Point;
  /** How `at` lies to the text. */
  align: "start" | "end";
}

export interface JoinShape {
  parent: string;
  side: Side;
  /** A thin line for each that waits. */
  waits: { id: string; path: string; waitNs: number }[];
  at: Point;
}

/** The background of a lane, and the repeated positions of its name along the flow. */
export interface LaneShape {
  id: string;
  name: string;
  box: PlacedNode;
  names: Point[];
}

export interface FlowDrawing {
  /** Of large flows only. */
  lanes: LaneShape[];
  nodes: PlacedNode[];
  edges: EdgeShape[];
  bars: BarShape[];
  labels: LabelShape[];
  joins: JoinShape[];
  frame: { x: number; y: number; width: number; height: number };
  flow: Flow;
}

export interface JoinInput {
  parent: string;
  side: Side;
  members: readonly { id: string; waitNs: number }[];
}

export function drawing(
  nodes: readonly FlowNode[],
  lows: ReadonlyMap<string, number>,
  starts: ReadonlyMap<string, number>,
  picture: Picture,
  flow: Flow,
  {
    joins = [],
    lanes = [],
    oneBar = false,
  }: { joins?: readonly JoinInput[]; lanes?: readonly Lane[]; oneBar?: boolean } = {},
): FlowDrawing {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const shown = nodes.filter((node) => isIn(node, picture) && starts.has(node.id));
  const low = (id: string): number => lows.get(id) ?? 0;
  const start = (id: string): number => starts.get(id) ?? 0;
  const end = (id: string): number => start(id) + (byId.get(id)?.depth ?? 0);
  const inlet = (node: FlowNode): number => low(node.id) + (flow === "down" ? INLET : node.breadth / 2);
  const turn = ([across, along]: Point): Point => (flow === "down" ? [across, along] : [along, across]);

  const edges: EdgeShape[] = [];
  const bars: BarShape[] = [];
  const labels: LabelShape[] = [];
  for (const node of shown) {
    const callers = new Map<string, Side[]>();
    for (const side of sidesOf(picture)) {
      const caller = node.callers[side];
      if (caller && starts.has(caller) && node.lengths[side] !== null) {
        callers.set(caller, [...(callers.get(caller) ?? []), side]);
      }
    }
    if (callers.size === 0) continue;
    const top = start(node.id) - lengthIn(node, picture);
    for (const [caller, sides] of callers) {
      const from = byId.get(caller);
      if (!from) continue;
      const points: Point[] = [[inlet(from), end(caller)], [inlet(node), Math.max(top, end(caller))]]; // prettier-ignore
      edges.push({ id: node.id, caller, sides, path: elbow(points, turn) });
    }
    const both = sidesOf(picture).filter((side) => node.lengths[side] !== null);
    const sides = oneBar ? both.slice(-1) : both;
    sides.forEach((side, index) => {
      const across = inlet(node) + (index - (sides.length - 1) / 2) * BAR_GAP;
      // Both start together, so their ends can be compared; the longer one reaches the node.
      bars.push({
        id: node.id,
        side,
        from: turn([across, top]),
        to: turn([across, top + (node.lengths[side] ?? 0)]),
      });
    });
    const middle = start(node.id) - Math.max(lengthIn(node, picture), node.room) / 2;
    labels.push(
      flow === "down"
        ? { id: node.id, at: [inlet(node) + 8, middle], align: "start" }
        : { id: node.id, at: [start(node.id) - 4, inlet(node) - 12], align: "end" },
    );
  }
  const placed = shown.map((node): PlacedNode => {
    const [x, y] = turn([low(node.id) + node.breadth / 2, start(node.id) + node.depth / 2]);
    const [width, height] = turn([node.breadth, node.depth]);
    return { id: node.id, x, y, width, height };
  });
  const joined = joinShapes(nodes, lows, starts, joins, turn);
  const frame = frameOf(placed, joined);
  return { lanes: laneShapes(lanes, frame, turn), nodes: placed, edges, bars, labels, joins: joined, frame, flow };
}

/** Grounds as long as the drawing. */
function laneShapes(lanes: readonly Lane[], frame: FlowDrawing["frame"], turn: (point: Point) => Point): LaneShape[] {
  const [, from] = turn([frame.x, frame.y]);
  const [, length] = turn([frame.width, frame.height]);
  return lanes.map(({ id, name, low, high }) => {
    const [x, y] = turn([(low + high) / 2, from + length / 2]);
    const [width, height] = turn([high - low, length + 2 * LANE_MARGIN]);
    const names = Array.from({ length: Math.max(1, Math.ceil(length / NAME_EVERY)) }, (_, index) =>
      turn([low + LANE_NAME_AT, from + index * NAME_EVERY]),
    );
    return { id, name, box: { id, x, y, width, height }, names };
  });
}

interface Level {
  join: JoinInput;
  ids: string[];
  /** How far along the flow it is: below all of the branches that it joins. */
  at: number;
}

function joinLevels(
  nodes: readonly FlowNode[],
  starts: ReadonlyMap<string, number>,
  joins: readonly JoinInput[],
): Level[] {
  const children = childrenOf(nodes);
  const depths = new Map(nodes.map((node) => [node.id, node.depth]));
  const levels = new Map<string, number>();
  // Inner joins first: an outer one lies below them, and what is known of the branches inside does not change any more.
  const bottoms = new Map<string, number>();
  const bottom = (id: string): number => {
    let found = bottoms.get(id);
    if (found === undefined) {
      found = starts.has(id) ? (starts.get(id) ?? 0) + (depths.get(id) ?? 0) : -Infinity;
      found = Math.max(found, levels.get(id) ?? -Infinity);
      for (const node of children.get(id) ?? []) found = Math.max(found, bottom(node.id));
      bottoms.set(id, found);
    }
    return found;
  };
  const order = new Map(nodes.map((node, index) => [node.id, index]));
  const inner = [...joins].sort((a, b) => (order.get(b.parent) ?? 0) - (order.get(a.parent) ?? 0));
  return inner.flatMap((join) => {
    const ids = join.members.map((one) => one.id).filter((id) => starts.has(id));
    if (ids.length < 2) return [];
    const siblings = (children.get(join.parent) ?? []).map((node) => node.id);
    const range = siblings.slice(siblings.indexOf(ids[0] ?? ""), siblings.indexOf(ids.at(-1) ?? "") + 1);
    const at = Math.max(...range.map(bottom)) + JOIN_GAP;
    levels.set(join.parent, Math.max(at, levels.get(join.parent) ?? -Infinity));
    return [{ join, ids, at }];
  });
}

/** Where lines of calls that wait pass along the flow. */
export function waitsOf(
  nodes: readonly FlowNode[],
  starts: ReadonlyMap<string, number>,
  joins: readonly JoinInput[],
): Wait[] {
  return joinLevels(nodes, starts, joins).flatMap(({ ids, at }) =>
    ids.map((id) => ({ id, from: starts.get(id) ?? 0, to: at })),
  );
}

/** Thin lines in the gaps, from each call that waits to the place below all of its branch. */
function joinShapes(
  nodes: readonly FlowNode[],
  lows: ReadonlyMap<string, number>,
  starts: ReadonlyMap<string, number>,
  joins: readonly JoinInput[],
  turn: (point: Point) => Point,
): JoinShape[] {
  const depths = new Map(nodes.map((node) => [node.id, node.depth]));
  const passing = (id: string): number => (lows.get(id) ?? 0) - WAIT_AT;
  return joinLevels(nodes, starts, joins).map(({ join, ids, at }) => {
    const to = passing(ids[0] ?? "");
    const waits = join.members
      .filter((one) => ids.includes(one.id))
      .map(({ id, waitNs }) => {
        const from = (starts.get(id) ?? 0) + (depths.get(id) ?? 0) / 2;
        const points: Point[] = [[passing(id) + WAIT_AT, from], [passing(id), from], [passing(id), at], [to, at]]; // prettier-ignore
        return { id, waitNs, path: line(points.map(turn)) };
      });
    return { parent: join.parent, side: join.side, waits, at: turn([to, at]) };
  });
}

/** Along, across in the parting below the caller, along again; corners are round. */
function elbow([from, to]: readonly Point[], turn: (point: Point) => Point): string {
  if (!from || !to) return "";
  const [across, along] = from;
  const by = to[0] - across;
  if (Math.abs(by) < 0.5) return line([turn(from), turn([across, to[1]])]);
  const level = Math.min(along + PARTING / 2, (along + to[1]) / 2);
  const corner = Math.min(CORNER, Math.abs(by) / 2, Math.max(0, level - along), Math.max(0, to[1] - level));
  const side = Math.sign(by) * corner;
  const at = (one: number, other: number): string => text(turn([one, other]));
  return (
    `M${text(turn(from))}L${at(across, level - corner)}Q${at(across, level)} ${at(across + side, level)}` +
    `L${at(to[0] - side, level)}Q${at(to[0], level)} ${at(to[0], level + corner)}L${text(turn(to))}`
  );
}

function line(points: readonly Point[]): string {
  return `M${points.map(text).join("L")}`;
}

function text([x, y]: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`;
}

function frameOf(nodes: readonly PlacedNode[], joins: readonly JoinShape[]): FlowDrawing["frame"] {
  if (nodes.length === 0) return { x: 0, y: 0, width: 0, height: 0 };
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const hold = (x: number, y: number, width: number, height: number): void => {
    left = Math.min(left, x - width / 2);
    right = Math.max(right, x + width / 2);
    top = Math.min(top, y - height / 2);
    bottom = Math.max(bottom, y + height / 2);
  };
  for (const { x, y, width, height } of nodes) hold(x, y, width, height);
  for (const { at } of joins) hold(at[0], at[1], 0, 0);
  return { x: left, y: top, width: right - left, height: bottom - top };
}
