/**
 * The nodes of an aggregate graph for drawing and listing: opened nodes, their contents, and the text of each node.
 *
 * Invariant: a path identifies a node. Each node is in exactly one group, as is each opened node with drawn contents.
 */
import type { AggregateBox, AggregateEdge, AggregateParams, AggregateResult } from "../../../shared/protocol";
import type { Group } from "./nestedLayout";
import { count, duration, thousands } from "../../ui/text/format";
import { type EdgeKind, makeGraph, type PanelEdge, type PanelGraph, type PanelNode } from "../../graph/model";
import { shortProcesses } from "../../ui/text/processNames";

export type NodeMeasure = NonNullable<AggregateParams["measure"]>;
export type Path = readonly string[];

export const MEASURES: Readonly<Record<NodeMeasure, string>> = {
  self: "self time",
  total: "total time",
  waiting: "waiting",
  calls: "calls",
  errors: "errors",
};
export const MEASURE_ORDER = Object.keys(MEASURES) as readonly NodeMeasure[];
const SEPARATOR = "\u001f";
/** Kinds of edges, the one that says most first. */
const KINDS: readonly EdgeKind[] = ["use", "sync", "state", "call"];
const NAMED = 2;

export function idOf(path: Path): string {
  return path.join(SEPARATOR);
}

export function isWithin(path: Path, container: Path): boolean {
  return path.length > container.length && container.every((label, at) => path[at] === label);
}

/** What is opened, with one more. */
export function opening(opened: readonly Path[], path: Path): string[][] {
  return [...opened.filter((one) => idOf(one) !== idOf(path)), path].map((one) => [...one]);
}

/** What stays open once a node and all in it are closed. */
export function closing(opened: readonly Path[], path: Path): string[][] {
  return opened.filter((one) => idOf(one) !== idOf(path) && !isWithin(one, path)).map((one) => [...one]);
}

/** The innermost node that was opened and that this one is, or is in. */
export function openedAround(opened: readonly Path[], path: Path): Path | undefined {
  const around = opened.filter((one) => idOf(one) === idOf(path) || isWithin(path, one));
  return around.sort((a, b) => b.length - a.length)[0];
}

/** What is drawn in one frame. */
export interface NodeGroup extends Group {
  /** From the opened node down, "" for the outermost. */
  title: string;
  hidden: number;
}

/** The outermost first. What has only one opened node in it has no frame of its own. */
export function groupsOf(result: AggregateResult): NodeGroup[] {
  const containers = new Map(result.containers.map((one) => [idOf(one.box.path), one]));
  const parent = (path: Path): string => idOf(path.slice(0, -1));
  /** Is it drawn only by the name of the frame that is in it? */
  const isPassedThrough = (id: string): boolean => {
    const one = containers.get(id);
    return one?.box.inside === 1 && result.containers.some((other) => parent(other.box.path) === id);
  };
  const members = new Map<string, string[]>();
  const put = (path: Path): void => {
    const group = containers.has(parent(path)) ? parent(path) : "";
    if (!isPassedThrough(group)) members.set(group, [...(members.get(group) ?? []), idOf(path)]);
  };
  const all = [...result.boxes, ...result.containers.map((one) => one.box)];
  for (const node of all.sort((a, b) => a.firstEvent - b.firstEvent)) put(node.path);
  const outermost: NodeGroup = { id: "", anchor: "", title: "", members: members.get("") ?? [], hidden: 0 };
  const inner = result.containers.flatMap(({ box: node, hiddenBoxes }): NodeGroup[] => {
    const id = idOf(node.path);
    if (isPassedThrough(id)) return [];
    let top = node.path;
    while (isPassedThrough(parent(top))) top = top.slice(0, -1);
    const names = node.path.slice(top.length - 1);
    return [{ id, anchor: idOf(top), title: names.join(" › "), members: members.get(id) ?? [], hidden: hiddenBoxes }];
  });
  return outermost.members.length > 0 ? [outermost, ...inner] : [];
}

/** What is known of all nodes, opened ones included, by id. */
export function nodesOf(result: AggregateResult): ReadonlyMap<string, AggregateBox> {
  return new Map([...result.boxes, ...result.containers.map((one) => one.box)].map((node) => [idOf(node.path), node]));
}

export function figure(node: AggregateBox, measure: NodeMeasure): number {
  return { self: node.selfNs, total: node.totalNs, waiting: node.waitingNs, calls: node.calls, errors: node.errors }[
    measure
  ];
}

/** `self 12.4 ms · 14 calls`; a measure that says neither comes first. */
export function meta(node: AggregateBox, measure: NodeMeasure): string {
  const calls = node.calls > 0 ? count(node.calls, "call") : count(node.events, "event");
  const own = node.selfNs > 0 ? `self ${duration(node.selfNs)}` : "";
  const first: Record<NodeMeasure, string> = {
    self: own,
    total: `${duration(node.totalNs)} in total`,
    waiting: `waiting ${duration(node.waitingNs)}`,
    calls,
    errors: count(node.errors, "error"),
  };
  return [...new Set([first[measure], calls, own])].filter(Boolean).slice(0, 2).join(" · ");
}

export function facts(node: AggregateBox): { name: string; value: string }[] {
  return [
    { name: "Events", value: thousands(node.events) },
    { name: "Calls", value: thousands(node.calls) },
    { name: "Self", value: duration(node.selfNs) },
    { name: "Total", value: duration(node.totalNs) },
    { name: "Waiting", value: duration(node.waitingNs) },
    { name: "Errors", value: thousands(node.errors) },
  ];
}

/** One node each, and one edge from each to each other: the kind that says most, all of them counted. */
export function aggregateGraph(
  result: AggregateResult,
  groups: readonly NodeGroup[],
  measure: NodeMeasure,
): PanelGraph {
  const opened = new Set(result.containers.map((one) => idOf(one.box.path)));
  const known = nodesOf(result);
  const processes = shortProcesses(
    [...known.values()].sort((a, b) => a.firstEvent - b.firstEvent).map((node) => node.path[1] ?? ""),
  );
  const nodes = groups
    .flatMap((group) => group.members)
    .flatMap((id): PanelNode[] => {
      const node = known.get(id);
      return node ? [nodeOf(node, opened.has(id), measure)] : [];
    });
  const pairs = new Map<string, AggregateEdge[]>();
  for (const edge of result.edges) {
    const key = `${edge.source} ${edge.target}`;
    pairs.set(key, [...(pairs.get(key) ?? []), edge]);
  }
  const edges = [...pairs.values()].flatMap((between): PanelEdge[] => {
    const [first] = between;
    const [source, target] = [result.boxes[first?.source ?? -1], result.boxes[first?.target ?? -1]];
    return source && target ? [edgeOf(source, target, between)] : [];
  });
  return makeGraph(nodes, edges, processes);
}

function nodeOf(node: AggregateBox, isOpened: boolean, measure: NodeMeasure): PanelNode {
  return {
    id: idOf(node.path),
    label: node.path.join(" › "),
    name: node.label,
    meta: meta(node, measure),
    detail: node.inside > 0 ? `${node.level}, ${isOpened ? "opened" : `${thousands(node.inside)} inside`}` : node.level,
    kind: isOpened ? "opened" : "call",
    tag: isOpened ? "opened" : node.inside > 0 ? `${thousands(node.inside)} ›` : "",
    process: node.path[1] ?? "",
    lane: node.path.slice(0, 3).join(" / "),
    location: node.location,
    root: false,
    onChain: false,
    onCriticalPath: false,
    steps: [],
    status: "both",
    deltaNs: 0,
    notable: false,
    firstEvent: node.firstEvent,
    members: [],
    facts: [],
    gaps: [],
    gapSpans: [],
    heat: isOpened ? 0 : node.heat,
  };
}

function edgeOf(source: AggregateBox, target: AggregateBox, between: readonly AggregateEdge[]): PanelEdge {
  const kinds = [...between].sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || b.count - a.count);
  const told = kinds.filter((edge) => edge.channel !== "").map((edge) => edge.channel);
  const names = [...new Set(told)];
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return {
    id: `${idOf(source.path)}→${idOf(target.path)}`,
    source: idOf(source.path),
    target: idOf(target.path),
    kind: kinds[0]?.kind ?? "call",
    channel: names.slice(0, NAMED).join(", ") + more,
    count: between.reduce((sum, edge) => sum + edge.count, 0),
    latencyNs: between.reduce((sum, edge) => sum + Math.max(0, edge.delayNs) * edge.count, 0),
    onChain: false,
    onCriticalPath: false,
    status: "both",
    clock: "",
    uncertain: false,
    gaps: [],
  };
}

export type Column = NodeMeasure | "label" | "events";

/** The nodes as rows, by a column: words from a on, figures from the largest down, unless the other way round. */
export function sorted(nodes: readonly AggregateBox[], column: Column, reverse: boolean): AggregateBox[] {
  const value = (node: AggregateBox): number =>
    column === "events" ? node.events : figure(node, column as NodeMeasure);
  const ordered = [...nodes].sort((a, b) =>
    column === "label" ? a.label.localeCompare(b.label) : value(b) - value(a) || a.firstEvent - b.firstEvent,
  );
  return reverse ? ordered.reverse() : ordered;
}
