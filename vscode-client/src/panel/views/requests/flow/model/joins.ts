/**
 * Joins of concurrent calls: each call that ended earlier waits for the last one.
 *
 * Invariant: calls join only if they overlap in time and end before their caller ends. A call that no one waits for joins nothing.
 */
import type { Flow, FlowCall, Side } from "./flow";

export interface Join {
  /** The call in which they run. */
  parent: string;
  side: Side;
  /** Calls that ran at the same time, in the flow's order, with how long each waits for the last. */
  members: readonly { id: string; waitNs: number }[];
}

/** Of the shorter of two calls, what must be at the same time as the other. */
const OVERLAP = 0.05;
/** Means of begin and end are not exactly consistent with one another. */
const SLACK = 1.02;

export function joinsOf(flow: Flow, side: Side): Join[] {
  const joins: Join[] = [];
  for (const parent of flow.calls) {
    const whole = parent.times[side];
    if (!whole) continue;
    const within = whole.beginNs + (whole.endNs - whole.beginNs) * SLACK;
    const children = (flow.children.get(parent.id) ?? []).filter((child) => {
      const times = child.times[side];
      return times !== null && child.callers[side] === parent.id && times.endNs <= within && child.kind !== "equal";
    });
    for (const members of clusters(children, side)) {
      const last = Math.max(...members.map((one) => one.times[side]?.endNs ?? 0));
      const order = new Map(children.map((child, index) => [child.id, index]));
      joins.push({
        parent: parent.id,
        side,
        members: members
          .map((one) => ({ id: one.id, waitNs: last - (one.times[side]?.endNs ?? last) }))
          .sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0)),
      });
    }
  }
  return joins;
}

/** Calls that ran at the same time as another of their cluster, two or more each. */
function clusters(calls: readonly FlowCall[], side: Side): FlowCall[][] {
  const begin = (call: FlowCall): number => call.times[side]?.beginNs ?? 0;
  const end = (call: FlowCall): number => call.times[side]?.endNs ?? 0;
  const found: FlowCall[][] = [];
  let [now, until]: [FlowCall[], number] = [[], -Infinity];
  for (const call of [...calls].sort((a, b) => begin(a) - begin(b))) {
    const shorter = Math.min(...[...now, call].map((one) => end(one) - begin(one)));
    if (until - begin(call) > OVERLAP * Math.max(shorter, 1)) now.push(call);
    else {
      now = [call];
      found.push(now);
      until = -Infinity;
    }
    until = Math.max(until, end(call));
  }
  return found.filter((cluster) => cluster.length > 1);
}
