/**
 * Two flows as one tree of calls with the times of both sides, which the view draws, measures and folds.
 *
 * Invariant: calls are in the order of both flows, each after its parent; ids are unique, and every named parent exists. A fold of calls
 * is again a call, with the times and members of all calls that it holds.
 */
import { groupBy } from "../../../../../shared/group";
import type { CompareGraph, CompareNode, Location } from "../../../../../shared/protocol";
import type { Searchable, Status } from "../../../../graph/model";

export type Side = "before" | "after";
export const SIDES: readonly Side[] = ["before", "after"];

/** Means per request, in ns. */
export interface Times {
  /** Since the request's begin. */
  beginNs: number;
  endNs: number;
  /** Without what it called. */
  ownNs: number;
  /** What its caller sees, delay and all of the call; null at a root. */
  edgeNs: number | null;
}

export interface FlowCall {
  id: string;
  label: string;
  /** What fits into a node. */
  name: string;
  /** What led to it, "" for a plain call. */
  channel: string;
  status: Status;
  /** Where it hangs, "" for a root: its caller after, or before where there is no after. */
  parent: string;
  /** The caller on each side, "" if the caller is not drawn. */
  callers: Record<Side, string>;
  times: Record<Side, Times | null>;
  /** How likely its own time and its edge are no longer after; null where that was not tested. */
  p: number | null;
  pEdge: number | null;
  location: Location | null;
  /** Made by folding: calls that repeat, or that are equal on both sides. */
  kind: "call" | "repeats" | "equal";
  /** The calls it represents: a plain call represents itself. */
  members: readonly FlowCall[];
}

export interface Flow {
  calls: readonly FlowCall[];
  byId: ReadonlyMap<string, FlowCall>;
  /** By parent, "" for the roots. */
  children: ReadonlyMap<string, FlowCall[]>;
  /** Requests. */
  counts: Record<Side, number>;
  /** Mean response times. */
  response: Record<Side, number>;
}

export function flowOf(graph: CompareGraph): Flow {
  const ids = new Set(graph.nodes.map((node) => node.id));
  const incoming = groupBy(graph.edges, (edge) => edge.target);
  const calls = graph.nodes.map((node): FlowCall => {
    const edges = (incoming.get(node.id) ?? []).filter((edge) => ids.has(edge.source));
    const edgeOf = (side: Side): (typeof edges)[number] | undefined =>
      edges.find((edge) => edge.status === "both" || edge.status === side);
    const call: FlowCall = {
      id: node.id,
      label: node.name,
      name: node.label,
      channel: node.channel,
      status: node.status,
      parent: ids.has(node.parent) ? node.parent : "",
      callers: { before: edgeOf("before")?.source ?? "", after: edgeOf("after")?.source ?? "" },
      times: {
        before: times(node, "before", edgeOf("before")?.beforeNs ?? null),
        after: times(node, "after", edgeOf("after")?.afterNs ?? null),
      },
      p: node.p,
      pEdge: edges.find((edge) => edge.p !== null)?.p ?? null,
      location: node.location,
      kind: "call",
      members: [],
    };
    call.members = [call];
    return call;
  });
  return makeFlow(calls, {
    counts: { before: graph.countBefore, after: graph.countAfter },
    response: { before: graph.responseBeforeNs, after: graph.responseAfterNs },
  });
}

export function makeFlow(calls: readonly FlowCall[], whole: Pick<Flow, "counts" | "response">): Flow {
  return {
    calls,
    byId: new Map(calls.map((call) => [call.id, call])),
    children: groupBy(calls, (call) => call.parent),
    counts: whole.counts,
    response: whole.response,
  };
}

/** What the search and the editor's cursor find calls by. */
export function searchable(flow: Flow): Searchable {
  const nodes = flow.calls.map(({ id, label, name, channel, location }) => {
    return { id, label, name, detail: "", lane: channel, process: "", kind: "call", location };
  });
  return { nodes, byId: new Map(nodes.map((node) => [node.id, node])) };
}

/** Has it another caller after than before? */
export function isMoved(call: FlowCall): boolean {
  return call.status === "both" && call.callers.before !== call.callers.after;
}

/** From a call up to its root, itself first. */
export function ancestry(flow: Flow, id: string): FlowCall[] {
  const path: FlowCall[] = [];
  for (let call = flow.byId.get(id); call; call = flow.byId.get(call.parent)) path.push(call);
  return path;
}

/** A call and all that hangs from it, in order. */
export function subtree(flow: Flow, id: string): FlowCall[] {
  const first = flow.byId.get(id);
  if (!first) return [];
  const found: FlowCall[] = [];
  const waiting = [first];
  for (let call = waiting.pop(); call; call = waiting.pop()) {
    found.push(call);
    waiting.push(...[...(flow.children.get(call.id) ?? [])].reverse());
  }
  return found;
}

/** The times of several calls as those of one: from the first begin to the last end, own times together. */
export function together(calls: readonly FlowCall[], side: Side, edgeNs: number | null): Times | null {
  const all = calls.flatMap((call) => call.times[side] ?? []);
  if (all.length === 0) return null;
  return {
    beginNs: Math.min(...all.map((one) => one.beginNs)),
    endNs: Math.max(...all.map((one) => one.endNs)),
    ownNs: all.reduce((sum, one) => sum + one.ownNs, 0),
    edgeNs,
  };
}

function times(node: CompareNode, side: Side, edgeNs: number | null): Times | null {
  const [begin, total, own] =
    side === "before"
      ? [node.beginBeforeNs, node.totalBeforeNs, node.ownBeforeNs]
      : [node.beginAfterNs, node.totalAfterNs, node.ownAfterNs];
  if (begin === null || total === null || own === null) return null;
  return { beginNs: begin, endNs: begin + total, ownNs: own, edgeNs };
}
