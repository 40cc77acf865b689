/** Sizes and texts of the calls of two flows, given the width of texts. */
import type { FlowNode } from "../layout/flow";
import { INLET } from "../layout/shapes";
import { sigmoid } from "../layout/sigmoid";
import type { Flow as Direction } from "../../../../graph/layout/types";
import { type Flow, type FlowCall, type Side, SIDES } from "./flow";
import { duration, elide } from "../../../../ui/text/format";
import { type Measure } from "../../../../graph/sizes";

export const FLOW_NODE = 44;
const MIN_WIDTH = 96;
const MAX_TEXT = 210;
export const FLOW_PADDING = 10;
const LABEL_HEIGHT = 16;
/** Along the flow, how long the shortest and the longest latency are drawn (px). */
const RANGE = { down: { shortest: 20, longest: 130 }, right: { shortest: 20, longest: 170 } };

export type Shown = Side | "both";

/** The first line of a node. */
export function heading(call: FlowCall): string {
  return call.kind === "repeats" ? `${call.name} ×${call.members.length}` : call.name;
}

/** The sign before the first line, which does not depend on colour. */
export function sign(call: FlowCall): string {
  return call.status === "before" ? "−" : call.status === "after" ? "+" : "";
}

/** The second line: what led to it, and its own time. */
export function ownTime(call: FlowCall, shown: Shown): string {
  const many = call.members.length > 1 ? "in total" : "itself";
  const time = pair(shown, (side) => call.times[side]?.ownNs ?? null);
  return [call.channel, time && `${many} ${time}`].filter(Boolean).join(" · ");
}

/** The text next to an edge: the latency for the caller, for several calls the mean. */
export function edgeTime(call: FlowCall, shown: Shown): string {
  const time = pair(shown, (side) => call.times[side]?.edgeNs ?? null);
  return time && call.kind === "repeats" ? `${time} each` : time;
}

/** `1.2 → 4.5 ms`, `840 ns → 1.2 ms`, `1.2 ms` where both sides say the same or one is asked for. */
export function pairWords(before: number, after: number): string {
  const [one, other] = [duration(before), duration(after)];
  if (one === other) return one;
  const [number, unit] = [one.slice(0, one.lastIndexOf(" ")), one.slice(one.lastIndexOf(" "))];
  return other.endsWith(unit) && !number.includes(" ") ? `${number} → ${other}` : `${one} → ${other}`;
}

function pair(shown: Shown, of: (side: Side) => number | null): string {
  const [before, after] = [of("before"), of("after")];
  if (shown !== "both") return of(shown) === null ? "" : duration(of(shown) ?? 0);
  if (before !== null && after !== null) return pairWords(before, after);
  return before === null && after === null ? "" : duration(after ?? before ?? 0);
}

/** `all`: the flow as it was sent, whose latencies give the scale, so that folding does not change how long they are drawn. */
export function flowNodes(flow: Flow, all: Flow, direction: Direction, measure: Measure): FlowNode[] {
  const latencies = all.calls.flatMap((call) => SIDES.flatMap((side) => call.times[side]?.edgeNs ?? []));
  const scale = sigmoid(latencies, RANGE[direction]);
  return flow.calls.map((call): FlowNode => {
    const name = Math.min(measure(`▲ ${sign(call)} ${heading(call)}`, "name"), MAX_TEXT);
    const meta = Math.min(measure(ownTime(call, "both"), "meta"), MAX_TEXT);
    const label = edgeTime(call, "both");
    const labelWidth = label ? Math.ceil(measure(`▲ ${label}`, "meta")) + 8 : 0;
    const text = Math.ceil(Math.max(MIN_WIDTH, name + 2 * FLOW_PADDING + 4, meta + 2 * FLOW_PADDING));
    const width = direction === "down" ? Math.max(text, labelWidth + INLET + 10) : text;
    const length = (side: Side): number | null => {
      const times = call.times[side];
      return times === null ? null : times.edgeNs === null ? 0 : scale(times.edgeNs);
    };
    return {
      id: call.id,
      breadth: direction === "down" ? width : FLOW_NODE,
      depth: direction === "down" ? FLOW_NODE : width,
      parent: call.parent,
      callers: call.callers,
      lengths: { before: length("before"), after: length("after") },
      room: direction === "down" ? LABEL_HEIGHT : labelWidth,
    };
  });
}

/** A text cut to the room it has. */
export function fit(text: string, room: number, font: "name" | "meta", measure: Measure): string {
  return elide(text, (one) => measure(one, font) <= room + 1);
}
