/**
 * The boxes of an aggregate graph as they are drawn and listed: which are opened, what is in which, what each says.
 *
 * Invariant: a box is known by its path; each is in exactly one group, and so is each opened one whose content is drawn.
 */
import type { AggregateBox, AggregateEdge, AggregateParams, AggregateResult } from "../../shared/protocol";
import type { Group } from "../layout/nested";
import { count, duration, thousands } from "./format";
import { type EdgeKind, makeGraph, type PanelEdge, type PanelGraph, type PanelNode } from "./graph";
import { shortProcesses } from "./processes";

export type BoxMeasure = NonNullable<AggregateParams["measure"]>;
export type Path = readonly string[];

export const MEASURES: Readonly<Record<BoxMeasure, string>> = {
  self: "self time",
  total: "total time",
  waiting: "waiting",
  calls: "calls",
  errors: "errors",
};
export const MEASURE_ORDER = Object.keys(MEASURES) as readonly BoxMeasure[];
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

/** What stays open once a box and all in it are closed. */
export function closing(opened: readonly Path[], path: Path): string[][] {
  return opened.filter((one) => idOf(one) !== idOf(path) && !isWithin(one, path)).map((one) => [...one]);
}

/** The innermost box that was opened and that this one is, or is in. */
export function openedAround(opened: readonly Path[], path: Path): Path | undefined {
  const around = opened.filter((one) => idOf(one) === idOf(path) || isWithin(path, one));
  return around.sort((a, b) => b.length - a.length)[0];
}

/** What is drawn in one frame. */
export interface BoxGroup extends Group {
  /** From the opened box down, "" for the outermost. */
  title: string;
  hidden: number;
}

/** The outermost first. What has only one opened box in it has no frame of its own. */
export function groupsOf(result: AggregateResult): BoxGroup[] {
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
  for (const box of all.sort((a, b) => a.firstEvent - b.firstEvent)) put(box.path);
  const outermost: BoxGroup = { id: "", anchor: "", title: "", members: members.get("") ?? [], hidden: 0 };
  const inner = result.containers.flatMap(({ box, hiddenBoxes }): BoxGroup[] => {
    const id = idOf(box.path);
    if (isPassedThrough(id)) return [];
    let top = box.path;
    while (isPassedThrough(parent(top))) top = top.slice(0, -1);
    const names = box.path.slice(top.length - 1);
    return [{ id, anchor: idOf(top), title: names.join(" › "), members: members.get(id) ?? [], hidden: hiddenBoxes }];
  });
  return outermost.members.length > 0 ? [outermost, ...inner] : [];
}

/** What is known of all boxes, opened ones included, by id. */
export function boxesOf(result: AggregateResult): ReadonlyMap<string, AggregateBox> {
  return new Map([...result.boxes, ...result.containers.map((one) => one.box)].map((box) => [idOf(box.path), box]));
}

export function figure(box: AggregateBox, measure: BoxMeasure): number {
  return { self: box.selfNs, total: box.totalNs, waiting: box.waitingNs, calls: box.calls, errors: box.errors }[
    measure
  ];
}

/** `self 12.4 ms · 14 calls`; a measure that says neither comes first. */
export function meta(box: AggregateBox, measure: BoxMeasure): string {
  const calls = box.calls > 0 ? count(box.calls, "call") : count(box.events, "event");
  const own = box.selfNs > 0 ? `self ${duration(box.selfNs)}` : "";
  const first: Record<BoxMeasure, string> = {
    self: own,
    total: `${duration(box.totalNs)} in all`,
    waiting: `waiting ${duration(box.waitingNs)}`,
    calls,
    errors: count(box.errors, "error"),
  };
  return [...new Set([first[measure], calls, own])].filter(Boolean).slice(0, 2).join(" · ");
}

export function facts(box: AggregateBox): { name: string; value: string }[] {
  return [
    { name: "Events", value: thousands(box.events) },
    { name: "Calls", value: thousands(box.calls) },
    { name: "Self", value: duration(box.selfNs) },
    { name: "Total", value: duration(box.totalNs) },
    { name: "Waiting", value: duration(box.waitingNs) },
    { name: "Errors", value: thousands(box.errors) },
  ];
}

/** One box each, and one edge from each to each other: the kind that says most, all of them counted. */
export function aggregateGraph(result: AggregateResult, groups: readonly BoxGroup[], measure: BoxMeasure): PanelGraph {
  const opened = new Set(result.containers.map((one) => idOf(one.box.path)));
  const known = boxesOf(result);
  const processes = shortProcesses(
    [...known.values()].sort((a, b) => a.firstEvent - b.firstEvent).map((box) => box.path[1] ?? ""),
  );
  const nodes = groups
    .flatMap((group) => group.members)
    .flatMap((id): PanelNode[] => {
      const box = known.get(id);
      return box ? [nodeOf(box, opened.has(id), measure)] : [];
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

function nodeOf(box: AggregateBox, isOpened: boolean, measure: BoxMeasure): PanelNode {
  return {
    id: idOf(box.path),
    label: box.path.join(" › "),
    name: box.label,
    meta: meta(box, measure),
    detail: box.inside > 0 ? `${box.level}, ${isOpened ? "opened" : `${thousands(box.inside)} in it`}` : box.level,
    kind: isOpened ? "opened" : "call",
    tag: isOpened ? "opened" : box.inside > 0 ? `${thousands(box.inside)} ›` : "",
    process: box.path[1] ?? "",
    lane: box.path.slice(0, 3).join(" / "),
    location: box.location,
    root: false,
    onChain: false,
    onCriticalPath: false,
    steps: [],
    status: "both",
    deltaNs: 0,
    notable: false,
    firstEvent: box.firstEvent,
    members: [],
    facts: [],
    gaps: [],
    gapSpans: [],
    heat: isOpened ? 0 : box.heat,
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

export type Column = BoxMeasure | "label" | "events";

/** The boxes as rows, by a column: words from a on, figures from the largest down, unless the other way round. */
export function sorted(boxes: readonly AggregateBox[], column: Column, reverse: boolean): AggregateBox[] {
  const value = (box: AggregateBox): number => (column === "events" ? box.events : figure(box, column as BoxMeasure));
  const ordered = [...boxes].sort((a, b) =>
    column === "label" ? a.label.localeCompare(b.label) : value(b) - value(a) || a.firstEvent - b.firstEvent,
  );
  return reverse ? ordered.reverse() : ordered;
}
