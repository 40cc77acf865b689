/** Sizes of nodes and labels, given the width of their texts. The layout takes these sizes. */
import type { Flow, LayoutInput } from "./layout/types";
import type { PanelEdge, PanelGraph, PanelNode } from "./model";

export type Measure = (text: string, font: "name" | "meta") => number;

export const NODE_HEIGHT = 48;
export const PADDING_LEFT = 15;
export const PADDING_RIGHT = 11;
const MIN_WIDTH = 104;
const MAX_TEXT = 236;
const TAG_ROOM = 8;
export const LABEL_HEIGHT = 17;
const LABEL_PADDING = 10;

/** The tag at the right of a node that names its kind, empty for a plain call. */
export function tag(node: PanelNode): string {
  if (node.tag !== undefined) return node.tag;
  if (node.status === "before") return "− gone";
  if (node.status === "after") return "+ new";
  return node.kind === "call" || node.kind === "" ? "" : node.kind;
}

export function tagWidth(node: PanelNode, measure: Measure): number {
  const word = tag(node);
  return word ? measure(word, "meta") + 2 * TAG_ROOM : 0;
}

export function nodeWidth(node: PanelNode, measure: Measure): number {
  const name = Math.min(measure(node.name, "name"), MAX_TEXT) + tagWidth(node, measure);
  const meta = Math.min(measure(node.meta, "meta"), MAX_TEXT);
  return Math.max(MIN_WIDTH, Math.ceil(Math.max(name, meta) + PADDING_LEFT + PADDING_RIGHT));
}

/** Does the edge carry a label? Those that the eye follows do, and those with something to say of their own. */
export function edgeLabel(edge: PanelEdge): string {
  if (edge.kind === "diff" || edge.kind === "move") return edge.channel;
  return edge.onChain ? edge.channel || (edge.kind === "call" || edge.kind === "next" ? "" : edge.kind) : "";
}

export function labelWidth(edge: PanelEdge, measure: Measure): number {
  return Math.ceil(measure(edgeLabel(edge), "meta")) + LABEL_PADDING;
}

/** Beside a node that leads to itself, for the loop's label. */
const LOOP_ROOM = 96;
const STRAIGHTEST = 12;
/** Edges with a higher strength are drawn straight. */
const WIDE = 0.7;

/** What the eye is to follow is straight; where widths say that, by them alone. */
function weightOf({ strength, onChain, onCriticalPath }: PanelEdge): number {
  if (strength !== undefined) return strength > WIDE ? STRAIGHTEST * strength : 1;
  return onChain ? STRAIGHTEST : onCriticalPath ? 3 : 1;
}

export function layoutInput(graph: PanelGraph, flow: Flow, measure: Measure): LayoutInput {
  const widest = Math.max(0, ...graph.edges.filter((edge) => edgeLabel(edge)).map((edge) => labelWidth(edge, measure)));
  return {
    nodes: graph.nodes.map((node) => ({ id: node.id, width: nodeWidth(node, measure), height: NODE_HEIGHT })),
    links: graph.edges.map((edge) => ({
      id: edge.id,
      source: edge.source,
      target: edge.target,
      weight: weightOf(edge),
    })),
    flow,
    layerGap: flow === "down" ? 52 : Math.max(56, Math.min(widest, 180) + 28),
    nodeGap: graph.edges.some((edge) => edge.source === edge.target && edgeLabel(edge) !== "") ? LOOP_ROOM : 20,
  };
}
