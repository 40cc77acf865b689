/** Flows for tests: written by hand, and random flows with one-sided and moved calls. */
import { type Flow, type FlowCall, makeFlow, type Side } from "../../src/panel/views/requests/flow/model/flow";
import { random } from "./random";

export function call(id: string, parent: string, more: Partial<FlowCall> = {}): FlowCall {
  const status = more.status ?? "both";
  const made: FlowCall = {
    id,
    label: `app:${id}`,
    name: id,
    channel: "",
    status,
    parent,
    callers: { before: status === "after" ? "" : parent, after: status === "before" ? "" : parent },
    times: { before: status === "after" ? null : times(1e6), after: status === "before" ? null : times(1e6) },
    p: status === "both" ? 0.5 : null,
    pEdge: status === "both" && parent ? 0.5 : null,
    location: null,
    kind: "call",
    members: [],
    ...more,
  };
  made.members = [made];
  return made;
}

export function times(
  edgeNs: number | null,
  ownNs = 1000,
  beginNs = 0,
  totalNs = edgeNs ?? 0,
): FlowCall["times"][Side] {
  return { beginNs, endNs: beginNs + totalNs, ownNs, edgeNs };
}

export function flow(...calls: FlowCall[]): Flow {
  return makeFlow(calls, { counts: { before: 40, after: 40 }, response: { before: 1e7, after: 2e7 } });
}

const NAMES = ["load", "send", "store.write", "a rather long name of a call", "f"];

/** Makes a tree of `size` calls in depth-first order; a few are on one side only, moved, or significantly slower. */
export function randomFlow(seed: number, size: number): Flow {
  const numbers = random(seed);
  const parents = Array.from({ length: size }, (_, index) => (index === 0 ? -1 : numbers.below(Math.min(index, 12))));
  const children = new Map<number, number[]>();
  // For depth and breadth the parent is one of the last few calls, or one of the first.
  parents.forEach((parent, index) => {
    const above =
      index === 0 ? -1 : numbers.below(3) > 0 ? Math.max(0, index - 1 - parent) : Math.min(parent, index - 1);
    children.set(above, [...(children.get(above) ?? []), index]);
  });
  const calls: FlowCall[] = [];
  const walk = (index: number, parent: FlowCall | undefined): void => {
    const side = parent && parent.status !== "both" ? parent.status : undefined;
    const status = side ?? (index > 0 && numbers.below(8) === 0 ? (numbers.below(2) ? "before" : "after") : "both");
    const edge = (): number | null => (parent ? 10 ** (2 + numbers.below(70) / 10) : null);
    const time = (): FlowCall["times"][Side] =>
      times(edge(), numbers.below(100_000), numbers.below(1000), numbers.below(1e6));
    const made = call(`c${index}`, parent?.id ?? "", {
      status,
      name: NAMES[numbers.below(NAMES.length)] ?? "",
      times: { before: status === "after" ? null : time(), after: status === "before" ? null : time() },
      p: status === "both" ? numbers.below(100) / 100 : null,
      pEdge: status === "both" && parent ? numbers.below(100) / 100 : null,
    });
    made.label = made.name;
    const earlier = calls.filter((one) => one.status === "both");
    if (status === "both" && parent && numbers.below(10) === 0) {
      made.callers.before = earlier[numbers.below(earlier.length)]?.id ?? made.callers.before;
    }
    calls.push(made);
    for (const child of children.get(index) ?? []) walk(child, made);
  };
  walk(0, undefined);
  return flow(...calls);
}
