/**
 * The drawn graph: one shape for slices and diffs, with its indexes.
 *
 * Invariant: both ends of every edge are nodes of the graph, and ids are unique. Other data of the server is dropped.
 */
import { groupBy } from "../../shared/group";
import type { DiffResult, Location, MissingEvents, SliceResult } from "../../shared/protocol";
import { gapsAt, gapSpans, type Span } from "../ui/gaps";
import { shortProcesses, withMachines } from "../ui/text/processNames";
import { count, duration, change, shortLabel, thousands } from "../ui/text/format";
import { matcher } from "../ui/searchMatch";

export type EdgeKind = "call" | "use" | "sync" | "state" | "next" | "diff" | "move";
export type Status = "both" | "before" | "after";

export interface PanelNode {
  id: string;
  /** The whole label, as the server says it. */
  label: string;
  /** What fits into a node. */
  name: string;
  /** The second line of the node. */
  meta: string;
  detail: string;
  kind: string;
  process: string;
  lane: string;
  location: Location | null;
  root: boolean;
  onChain: boolean;
  onCriticalPath: boolean;
  /** Numbers of the chain's steps that are in this node, from 1. */
  steps: number[];
  status: Status;
  deltaNs: number;
  /** Is its change among those that matter, in a diff? */
  notable: boolean;
  /** An event to ask about, -1 for none. */
  firstEvent: number;
  /** The nodes that were drawn together as this one, empty for a node of the server's. */
  members: string[];
  facts: Fact[];
  /** The missing events next to its events. */
  gaps: MissingEvents[];
  /** Where that is, in the time from its first event to its last. */
  gapSpans: Span[];
  /** How much of what nodes are compared by it has, from 0 (nothing) to 1: so strongly it is coloured. */
  heat?: number;
  /** At the node's right, where its kind does not say it. */
  tag?: string;
}

export interface Fact {
  name: string;
  value: string;
}

export interface PanelEdge {
  id: string;
  source: string;
  target: string;
  kind: EdgeKind;
  channel: string;
  count: number;
  latencyNs: number;
  onChain: boolean;
  onCriticalPath: boolean;
  status: Status;
  /** What the clocks of its ends were put together by, empty on one machine. */
  clock: string;
  /** Can they be off by more than the time between the ends? */
  uncertain: boolean;
  /** What is missing between its ends. */
  gaps: MissingEvents[];
  /** How wide it is drawn, and how straight, from 0 to 1. */
  strength?: number;
}

export interface PanelGraph {
  nodes: PanelNode[];
  edges: PanelEdge[];
  byId: ReadonlyMap<string, PanelNode>;
  outgoing: ReadonlyMap<string, PanelEdge[]>;
  incoming: ReadonlyMap<string, PanelEdge[]>;
  /** Every process, in the order in which it first acts, with its short name. */
  processes: ReadonlyMap<string, string>;
  /** The node that the answer is about most, where it says so. */
  first?: string;
}

export function makeGraph(
  nodes: PanelNode[],
  edges: PanelEdge[],
  processes: ReadonlyMap<string, string> = new Map(),
): PanelGraph {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const kept = edges.filter((edge) => byId.has(edge.source) && byId.has(edge.target));
  return {
    nodes: [...byId.values()],
    edges: kept,
    byId,
    outgoing: groupBy(kept, (edge) => edge.source),
    incoming: groupBy(kept, (edge) => edge.target),
    processes,
  };
}

/** What the server says of a node that acts in more than one process: no process, and no colour of its own. */
const SEVERAL = "several processes";

export function fromSlice(result: SliceResult): PanelGraph {
  const steps = new Map<string, number[]>();
  result.chain.forEach((step, index) => {
    const known = steps.get(step.nodeId) ?? [];
    steps.set(step.nodeId, [...known, index + 1]);
  });
  const ordered = [...result.nodes].sort((a, b) => a.firstNs - b.firstNs || compare(a.id, b.id));
  const named = [...ordered, ...result.chain].map((one) => one.process).filter((name) => name !== SEVERAL);
  const processes = withMachines(shortProcesses(named), result.processes);
  const nodes = ordered.map((node): PanelNode => {
    const process = processes.get(node.process) ?? node.process;
    const work = node.calls > 0 ? count(node.calls, "call") : count(node.events, "event");
    return {
      id: node.id,
      label: wholeLabel(node),
      name: shortLabel(node.label),
      meta: [process, work, node.selfNs > 0 ? duration(node.selfNs) : ""].filter(Boolean).join(" · "),
      detail: node.detail,
      kind: node.kind,
      process: node.process,
      lane: node.lane,
      location: node.location,
      root: node.root,
      onChain: node.onChain || steps.has(node.id),
      onCriticalPath: node.onCriticalPath,
      steps: steps.get(node.id) ?? [],
      status: "both",
      deltaNs: 0,
      notable: false,
      firstEvent: node.firstEvent,
      members: [],
      facts: [
        { name: "Process", value: node.process },
        { name: "Machine", value: node.machine },
        { name: "Flow", value: node.lane },
        { name: "Events", value: thousands(node.events) },
        { name: "Total time", value: node.totalNs > 0 ? duration(node.totalNs) : "" },
        { name: "From", value: `+${duration(node.firstNs)}` },
        { name: "To", value: `+${duration(node.lastNs)}` },
      ].filter((fact) => fact.value !== ""),
      gaps: gapsAt(result.gaps, node.gaps),
      gapSpans: gapSpans(gapsAt(result.gaps, node.gaps), node.firstNs, node.lastNs, SMALLEST_GAP),
    };
  });
  const edges = result.edges.map((edge, index): PanelEdge => ({
    ...edge,
    id: edgeId(edge, edge.channel, index),
    status: "both",
    gaps: gapsAt(result.gaps, edge.gaps),
  }));
  return makeGraph(nodes, edges, processes);
}

/** Of a node's width. */
const SMALLEST_GAP = 0.1;

/** A change of at least this share of the largest one is notable. */
const NOTABLE = 0.05;
/** An edge of both runs is labelled where its count changed by at least this factor. */
const COUNT_FACTOR = 1.5;

export function fromDiff(result: DiffResult): PanelGraph {
  const largest = Math.max(1, ...result.nodes.map((node) => Math.abs(node.deltaNs)));
  const nodes = result.nodes.map((node): PanelNode => {
    const calls = `${thousands(node.callsBefore)} → ${count(node.callsAfter, "call")}`;
    return {
      id: node.id,
      label: wholeLabel(node),
      name: shortLabel(node.label),
      meta: `${node.deltaNs > 0 ? "▲ " : node.deltaNs < 0 ? "▼ " : ""}${change(node.deltaNs)} · ${node.callsBefore === node.callsAfter ? count(node.callsAfter, "call") : calls}`,
      detail: "",
      kind: "call",
      process: "",
      lane: "",
      location: node.location,
      root: false,
      onChain: false,
      onCriticalPath: false,
      steps: [],
      status: node.status,
      deltaNs: node.deltaNs,
      notable: Math.abs(node.deltaNs) >= largest * NOTABLE,
      firstEvent: -1,
      members: [],
      facts: [],
      gaps: [],
      gapSpans: [],
    };
  });
  const edges = result.edges.map((edge, index): PanelEdge => ({
    id: edgeId(edge, "", index),
    source: edge.source,
    target: edge.target,
    kind: "diff",
    channel: countChange(edge.countBefore, edge.countAfter),
    count: edge.countAfter || edge.countBefore,
    latencyNs: 0,
    onChain: false,
    onCriticalPath: false,
    status: edge.status,
    clock: "",
    uncertain: false,
    gaps: [],
  }));
  const [top] = result.rows;
  const first = nodes.find((node) => node.label === top?.label);
  return { ...makeGraph(nodes, edges), ...(first ? { first: first.id } : {}) };
}

function countChange(before: number, after: number): string {
  const [low, high] = [Math.min(before, after), Math.max(before, after)];
  return high >= low * COUNT_FACTOR ? `${thousands(before)} → ${thousands(after)}` : "";
}

/** What can be searched for by its words, or by its place in the source. */
export type Findable = Pick<PanelNode, "id" | "label" | "name" | "detail" | "lane" | "process" | "kind" | "location">;

export interface Searchable {
  nodes: readonly Findable[];
  byId: ReadonlyMap<string, Findable>;
}

/** Nodes whose label, detail, process or kind has every word of `text`; none for an empty text. */
export function search(graph: Searchable, text: string): string[] {
  if (text.trim() === "") return [];
  const matches = matcher(text);
  return graph.nodes
    .filter((node) => matches(`${node.label} ${node.name} ${node.detail} ${node.lane} ${node.process} ${node.kind}`))
    .map((node) => node.id);
}

/** Nodes of a function (`module:qualname`), or, where nodes are not functions, those placed in the function's lines. */
export function nodesOf(graph: Searchable, name: string, location: Location | null): string[] {
  const same = graph.nodes.filter((node) => node.id === name || node.label === name);
  const inside = graph.nodes.filter((node) => {
    if (!location || node.location?.path !== location.path) return false;
    const end = Math.max(location.endLine ?? 0, location.line);
    return node.location.line >= location.line && node.location.line <= end;
  });
  return [...new Set([...same, ...inside].map((node) => node.id))];
}

/** The server shortens labels; of a function the whole is the id. */
function wholeLabel(node: { id: string; label: string }): string {
  return /^[\w.]+:[\w.<>]+$/.test(node.id) ? node.id : node.label;
}

function edgeId(edge: { source: string; target: string }, channel: string, index: number): string {
  return `${edge.source}→${edge.target}#${channel}#${index}`;
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
