/** Measures an interval of a flow on both sides: from the start of one call to the end of another, and the calls in between. */
import { ancestry, type Flow, type FlowCall, type Side, SIDES } from "./flow";
import { change, duration } from "../../../../ui/text/format";

export interface Interval {
  from: FlowCall;
  to: FlowCall;
  /** From `from`'s begin to `to`'s end; null on a side that does not have both. */
  ns: Record<Side, number | null>;
  /** From one to the other along the tree, both included. */
  path: readonly FlowCall[];
}

/** Undefined where one of the calls is not there. `from` becomes the one that begins first. */
export function interval(flow: Flow, one: string, other: string): Interval | undefined {
  const [a, b] = [flow.byId.get(one), flow.byId.get(other)];
  if (!a || !b) return undefined;
  const [from, to] = begin(a, b) <= begin(b, a) ? [a, b] : [b, a];
  const ns = { before: null, after: null } as Record<Side, number | null>;
  for (const side of SIDES) {
    const [first, last] = [from.times[side], to.times[side]];
    if (first && last) ns[side] = Math.max(first.endNs, last.endNs) - Math.min(first.beginNs, last.beginNs);
    // A call that contains the other ends after it: the interval ends with the inner call.
    if (first && last && isAbove(flow, from, to)) ns[side] = last.endNs - first.beginNs;
  }
  return { from, to, ns, path: pathBetween(flow, from, to) };
}

/** `3.1 ms → 7.2 ms (+4.1 ms, +132 %)`. */
export function intervalText({ ns }: Interval): string {
  const { before, after } = ns;
  if (before === null && after === null) return "neither side has both calls";
  if (before === null) return `${duration(after ?? 0)} after; before does not have both calls`;
  if (after === null) return `${duration(before)} before; after does not have both calls`;
  const times = before > 0 ? after / before : 1;
  const percent = Math.round(100 * (times - 1));
  const share =
    times >= 10 ? `×${Math.round(times)}` : `${percent > 0 ? "+" : percent < 0 ? "−" : "±"}${Math.abs(percent)} %`;
  return `${duration(before)} → ${duration(after)} (${change(after - before)}${before > 0 ? `, ${share}` : ""})`;
}

/** Its start on a side that both calls have, if there is one: only such times can be compared. */
function begin(call: FlowCall, other: FlowCall): number {
  const shared = SIDES.find((side) => call.times[side] && other.times[side]);
  const times = shared ? call.times[shared] : (call.times.after ?? call.times.before);
  return times?.beginNs ?? 0;
}

function isAbove(flow: Flow, upper: FlowCall, lower: FlowCall): boolean {
  return ancestry(flow, lower.id).some((call) => call.id === upper.id);
}

function pathBetween(flow: Flow, from: FlowCall, to: FlowCall): FlowCall[] {
  const up = ancestry(flow, from.id);
  const down = ancestry(flow, to.id);
  const meeting = up.find((call) => down.includes(call));
  if (!meeting) return [from, to];
  const climbed = up.slice(0, up.indexOf(meeting) + 1);
  return [...climbed, ...down.slice(0, down.indexOf(meeting)).reverse()];
}
