/**
 * Shrinks a flow to a readable size: repeated calls become one (×n), and parts that are equal on both sides fold into one node.
 *
 * Invariant: no call is lost or counted twice: each call is a member of exactly one call of the result, self times add up to the same on
 * both sides, and the order is kept. Opened folds are drawn as their calls.
 */
import { type Flow, type FlowCall, isMoved, makeFlow, type Side, SIDES, together } from "./flow";
import type { Significance } from "./significance";

/** Folded calls whose times together differ by no more than this share are called equal. */
const CLOSE = 0.1;

/** Neighbours of one name, with the same calls below, as one call each. */
export function groupRepeats(flow: Flow, opened: ReadonlySet<string>): Flow {
  const shapes = shapesOf(flow);
  const made: FlowCall[] = [];
  const below = (calls: readonly FlowCall[], parent: string): void => {
    const lists = calls.map((call) => flow.children.get(call.id) ?? []);
    emitRuns((lists[0] ?? []).map((_, index) => lists.flatMap((list) => list[index] ?? [])), parent); // prettier-ignore
  };
  const emit = (calls: readonly FlowCall[], parent: string): void => {
    const [first] = calls;
    if (!first) return;
    const call = calls.length === 1 ? { ...first, parent } : repeated(first, calls, parent);
    made.push(call);
    below(calls, call.id);
  };
  /** `columns`: the calls at each position below a call; several if the call itself is a group. */
  const emitRuns = (columns: readonly (readonly FlowCall[])[], parent: string): void => {
    const shape = (column: readonly FlowCall[]): number | undefined => shapes.get(column[0]?.id ?? "");
    for (let from = 0; from < columns.length;) {
      let to = from + 1;
      while (to < columns.length && shape(columns[to] ?? []) === shape(columns[from] ?? [])) to += 1;
      const run = columns.slice(from, to);
      if (opened.has(repeatId(run[0]?.[0]))) for (const column of run) emit(column, parent);
      else emit(run.flat(), parent);
      from = to;
    }
  };
  emitRuns((flow.children.get("") ?? []).map((root) => [root]), ""); // prettier-ignore
  return joined(made, flow);
}

/** Stretches in which nothing changed, by what is significant now: whole subtrees, and chains of calls that lead to a change. */
export function foldEqual(flow: Flow, found: Significance, opened: ReadonlySet<string>): Flow {
  const calm = (call: FlowCall): boolean =>
    call.status === "both" &&
    !isMoved(call) &&
    !call.members.some((one) => found.calls.has(one.id) || found.untested.has(one.id));
  const equal = new Set<string>();
  for (const call of [...flow.calls].reverse()) {
    const children = flow.children.get(call.id) ?? [];
    const alike = calm(call) && !call.members.some((one) => found.edges.has(one.id));
    if (alike && children.every((child) => equal.has(child.id))) equal.add(call.id);
  }
  const childrenOf = (call: FlowCall): FlowCall[] => flow.children.get(call.id) ?? [];
  const whole = (call: FlowCall): FlowCall[] => [call, ...childrenOf(call).flatMap(whole)];
  const made: FlowCall[] = [];
  const apart = new Set<string>();
  const emit = (call: FlowCall, parent: string): void => {
    const chain = parent === "" || apart.has(call.id) ? [call] : chainFrom(call);
    const held = chain.flatMap((one) => [
      one,
      ...childrenOf(one)
        .filter((child) => equal.has(child.id))
        .flatMap(whole),
    ]);
    const last = chain.at(-1) ?? call;
    if (chain.length > 1 && opened.has(equalId(call))) for (const one of chain) apart.add(one.id);
    else if (chain.length > 1) {
      made.push(folded(call, held, [call], parent));
      emitAll(
        childrenOf(last).filter((child) => !equal.has(child.id)),
        equalId(call),
      );
      return;
    }
    made.push({ ...call, parent });
    emitAll(childrenOf(call), call.id);
  };
  const emitAll = (calls: readonly FlowCall[], parent: string): void => {
    for (let from = 0; from < calls.length;) {
      let to = from;
      while (to < calls.length && parent !== "" && equal.has(calls[to]?.id ?? "")) to += 1;
      const [first, ...rest] = calls.slice(from, Math.max(to, from + 1));
      if (!first) return;
      const held = [first, ...rest].flatMap(whole);
      const fold = to > from && held.length > 1;
      if (fold && !opened.has(equalId(first))) made.push(folded(first, held, [first, ...rest], parent));
      else for (const one of [first, ...rest]) emit(one, parent);
      from = Math.max(to, from + 1);
    }
  };
  /** Calm calls of which each leads to one change only, below the next. */
  const chainFrom = (call: FlowCall): FlowCall[] => {
    const chain = [call];
    for (let now: FlowCall | undefined = call; now && calm(now);) {
      const changed: FlowCall[] = childrenOf(now).filter((child) => !equal.has(child.id));
      const [next]: FlowCall[] = changed;
      now = changed.length === 1 && next && calm(next) ? next : undefined;
      if (now) chain.push(now);
    }
    return chain;
  };
  emitAll(flow.children.get("") ?? [], "");
  return joined(made, flow);
}

function repeatId(first: FlowCall | undefined): string {
  return `×${first?.id ?? ""}`;
}

function equalId(first: FlowCall): string {
  return `=${first.id}`;
}

/** Per call a number that calls with the same name, channel, status and calls below share. */
function shapesOf(flow: Flow): ReadonlyMap<string, number> {
  const numbers = new Map<string, number>();
  const shapes = new Map<string, number>();
  for (const call of [...flow.calls].reverse()) {
    const below = (flow.children.get(call.id) ?? []).map((child) => shapes.get(child.id));
    const moved = isMoved(call) ? call.id : "";
    const key = JSON.stringify([call.label, call.channel, call.status, moved, below]);
    const number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    shapes.set(call.id, number);
  }
  return shapes;
}

/** Several calls as one: their times together, but of the edges the mean, which is what one of them takes. */
function repeated(first: FlowCall, calls: readonly FlowCall[], parent: string): FlowCall {
  const mean = (side: Side): number | null => {
    const edges = calls.flatMap((call) => call.times[side]?.edgeNs ?? []);
    return edges.length > 0 ? edges.reduce((sum, ns) => sum + ns, 0) / edges.length : null;
  };
  return {
    ...first,
    id: repeatId(first),
    parent,
    times: { before: together(calls, "before", mean("before")), after: together(calls, "after", mean("after")) },
    p: null,
    pEdge: null,
    kind: "repeats",
    members: calls.flatMap((call) => call.members),
  };
}

function folded(first: FlowCall, held: readonly FlowCall[], roots: readonly FlowCall[], parent: string): FlowCall {
  const edge = (side: Side): number | null => (roots.length === 1 ? (first.times[side]?.edgeNs ?? null) : null);
  const members = held.flatMap((call) => call.members);
  return {
    ...first,
    id: equalId(first),
    name: foldedName(members),
    channel: roots.length === 1 ? first.channel : "",
    parent,
    times: { before: together(held, "before", edge("before")), after: together(held, "after", edge("after")) },
    p: null,
    pEdge: null,
    location: null,
    kind: "equal",
    members,
  };
}

/** No test says that times are equal: only that they are not surely different. */
function foldedName(members: readonly FlowCall[]): string {
  const [before, after] = SIDES.map((side) => members.reduce((sum, one) => sum + (one.times[side]?.ownNs ?? 0), 0));
  const isClose = Math.abs((after ?? 0) - (before ?? 0)) <= CLOSE * (before ?? 0);
  return isClose ? `${members.length} equal calls` : `${members.length} calls, none significantly slower`;
}

/** The calls as a flow: the folds that now hold the callers become the parents. */
function joined(made: readonly FlowCall[], flow: Flow): Flow {
  const holder = new Map(made.flatMap((call) => call.members.map((one) => [one.id, call.id] as const)));
  const calls = made.map((call): FlowCall => {
    const callers = { before: "", after: "" };
    for (const side of SIDES) {
      const [first] = call.members;
      const caller = holder.get(first?.callers[side] ?? "") ?? "";
      callers[side] = caller === call.id ? "" : caller;
    }
    return { ...call, callers };
  });
  return makeFlow(calls, flow);
}
