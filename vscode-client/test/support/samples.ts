/** Small answers of the server for tests of models. */
import type {
  ChainStep,
  DiffRow,
  GraphEdge,
  GraphNode,
  MissingEvents,
  PathSegment,
  RunRef,
  SliceResult,
  Verdict,
} from "../../src/shared/protocol";

export const RUN: RunRef = {
  id: "20260102-030405-failed-write",
  name: "failed-write",
  started: 1_700_000_000_000,
  finished: true,
  exitCode: 0,
  command: "python -m chunkstore.scenario failed-write",
  problems: [],
  commit: "",
};

export function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  return {
    id,
    label: id,
    detail: "",
    lane: "c1 / main",
    process: "c1",
    kind: "call",
    events: 4,
    calls: 1,
    selfNs: 1_000,
    totalNs: 3_000,
    firstNs: 0,
    lastNs: 3_000,
    location: null,
    root: false,
    onCriticalPath: false,
    onChain: false,
    firstEvent: 0,
    machine: "",
    gaps: [],
    ...more,
  };
}

export function edge(source: string, target: string, more: Partial<GraphEdge> = {}): GraphEdge {
  return {
    source,
    target,
    kind: "call",
    channel: "",
    count: 1,
    latencyNs: 0,
    onCriticalPath: false,
    onChain: false,
    clock: "",
    uncertain: false,
    gaps: [],
    ...more,
  };
}

export function step(nodeId: string, more: Partial<ChainStep> = {}): ChainStep {
  return {
    event: 0,
    title: nodeId,
    detail: "",
    process: "c1",
    strand: "main",
    timeNs: 0,
    edge: "",
    channel: "",
    key: "",
    otherCauses: 0,
    nodeId,
    location: null,
    machine: "",
    clock: "",
    uncertain: false,
    gaps: [],
    hiddenGaps: 0,
    ...more,
  };
}

export function slice(nodes: GraphNode[], edges: GraphEdge[], chain: ChainStep[] = []): SliceResult {
  return {
    run: RUN,
    title: "Why",
    direction: "backward",
    level: "function",
    levels: ["function", "module"],
    nodes,
    edges,
    chain,
    numbers: { events: 10, eventsInRun: 100, edges: 5, processes: 1, strands: 1, elapsedMs: 1 },
    hiddenNodes: 0,
    message: "",
    gaps: [],
    hiddenGaps: 0,
    processes: [],
    machines: [],
    verdict: null,
  };
}

export function verdict(more: Partial<Verdict> = {}): Verdict {
  return {
    event: 7,
    title: "ERROR timed out",
    sentences: [{ text: "pay-rent waited 2 s for bob's lock.", events: [3, 4] }],
    certainty: "recorded",
    sure: "recorded",
    basis: "",
    remedy: "",
    diagnosis: "",
    steps: [],
    moreSteps: 0,
    others: [],
    limits: [],
    markdown: "**Why: ERROR timed out**\n",
    failedTest: null,
    write: null,
    ...more,
  };
}

export function row(label: string, before: number, after: number, more: Partial<DiffRow> = {}): DiffRow {
  return {
    label,
    status: "both",
    callsBefore: 10,
    callsAfter: 10,
    selfBeforeNs: before,
    selfAfterNs: after,
    deltaNs: after - before,
    perCallBeforeNs: before / 10,
    perCallAfterNs: after / 10,
    location: null,
    countedBefore: 0,
    countedAfter: 0,
    finding: false,
    waitsBeforeNs: 0,
    waitsAfterNs: 0,
    waitsFinding: false,
    ...more,
  };
}

export function segment(label: string, startNs: number, selfNs: number, waitNs = 0): PathSegment {
  return {
    label,
    process: "c1",
    strand: "main",
    selfNs,
    waitNs,
    slackNs: 0,
    startNs,
    endNs: startNs + selfNs + waitNs,
    nodeId: label,
    location: null,
    savingNs: 0,
    machine: "",
    clock: "",
    uncertain: false,
    gaps: [],
    waitFor: "",
    waitWhy: "",
    event: 0,
  };
}

export function gap(fromNs: number, toNs: number, more: Partial<MissingEvents> = {}): MissingEvents {
  return {
    process: "c1",
    strand: "main",
    fromNs,
    toNs,
    lost: 41,
    function: "store:look_up",
    why: "too many",
    text: "41 calls of store.look_up in main are missing: too many",
    ...more,
  };
}
