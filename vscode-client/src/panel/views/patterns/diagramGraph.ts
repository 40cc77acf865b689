/**
 * The state diagram (FlowViz) as a graph: states with their share of the time, transitions with their frequency.
 *
 * Invariant: the selected pattern changes highlights and labels, never the layout of the same states and transitions.
 */
import type { PatternDiagram, PatternState } from "../../../shared/protocol";
import { count, shortLabel, thousands } from "../../ui/text/format";
import { makeGraph, type PanelEdge, type PanelGraph, type PanelNode } from "../../graph/model";
import { percent } from "../../ui/text/format";

/** What the state of a function is called on its node. */
export function stateId({ label, what }: Pick<PatternState, "label" | "what">): string {
  return `${what} ${label}`;
}

/** `start`: the id of the state that it is read from. */
export function diagramGraph({ states, moves }: PatternDiagram, start = ""): PanelGraph {
  const longest = Math.max(Number.MIN_VALUE, ...states.map((state) => state.share));
  const often = Math.max(1, ...moves.map((move) => move.count));
  const nodes = states.map((state): PanelNode => ({
    id: stateId(state),
    label: state.label,
    name: shortLabel(state.label),
    meta: [`${thousands(state.count)} ×`, state.ns > 0 ? `then ${percent(state.share)} of the time` : ""]
      .filter(Boolean)
      .join(" · "),
    detail: state.inside > 0 ? `${thousands(state.inside)} of ${count(state.count, "time")} in the pattern` : "",
    kind: state.what,
    process: "",
    lane: "",
    location: state.location,
    root: stateId(state) === start,
    onChain: state.inside > 0,
    onCriticalPath: false,
    steps: [],
    status: "both",
    deltaNs: 0,
    notable: false,
    firstEvent: -1,
    members: [],
    facts: [],
    gaps: [],
    gapSpans: [],
    heat: state.share / longest,
  }));
  const edges = moves.flatMap((move): PanelEdge[] => {
    const [source, target] = [states[move.source], states[move.target]];
    if (!source || !target) return [];
    return [
      {
        id: `${stateId(source)} → ${stateId(target)}`,
        source: stateId(source),
        target: stateId(target),
        kind: "move",
        channel: `${thousands(move.inside)} / ${thousands(move.count)}`,
        count: move.count,
        latencyNs: 0,
        onChain: move.inside > 0,
        onCriticalPath: false,
        status: "both",
        clock: "",
        uncertain: false,
        gaps: [],
        // A logarithmic scale: the counts range from one to a million.
        strength: Math.log1p(move.count) / Math.log1p(often),
      },
    ];
  });
  return makeGraph(nodes, edges);
}

/** The states of a function. */
export function statesOf(graph: PanelGraph, label: string): string[] {
  return graph.nodes.filter((node) => node.label === label).map((node) => node.id);
}
