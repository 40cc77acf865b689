/**
 * Moves from node to node by arrow keys: along the flow by an edge, across it to the nearest neighbour.
 *
 * Invariant: arrow keys reach every node of a connected graph, and a step along an edge of the chain follows the chain.
 */
import type { Layout, PlacedNode } from "./layout/types";
import type { PanelEdge, PanelGraph } from "./model";

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

export function isArrow(key: string): key is Arrow {
  return key === "ArrowUp" || key === "ArrowDown" || key === "ArrowLeft" || key === "ArrowRight";
}

/** The node to go to from `from`, or undefined when there is none in that direction. */
export function step(graph: PanelGraph, layout: Layout, from: string, key: Arrow): string | undefined {
  const nodes = new Map(layout.nodes.map((node) => [node.id, node]));
  const here = nodes.get(from);
  if (!here) return undefined;
  const down = layout.flow === "down";
  const [forward, back] = down ? ["ArrowDown", "ArrowUp"] : ["ArrowRight", "ArrowLeft"];
  if (key === forward) return follow(graph.outgoing.get(from) ?? [], (edge) => edge.target, nodes, here);
  if (key === back) return follow(graph.incoming.get(from) ?? [], (edge) => edge.source, nodes, here);
  return beside(layout.nodes, here, key === "ArrowRight" || key === "ArrowDown", down);
}

/** Where to begin: what the answer is about, else the root, the first step of the chain, the largest change, the first node. */
export function start(graph: PanelGraph): string | undefined {
  if (graph.first !== undefined && graph.byId.has(graph.first)) return graph.first;
  const first = graph.nodes.find((node) => node.root) ?? graph.nodes.find((node) => node.steps.includes(1));
  const [largest] = [...graph.nodes].sort((a, b) => Math.abs(b.deltaNs) - Math.abs(a.deltaNs));
  return (first ?? largest)?.id;
}

function follow(
  edges: readonly PanelEdge[],
  end: (edge: PanelEdge) => string,
  nodes: ReadonlyMap<string, PlacedNode>,
  here: PlacedNode,
): string | undefined {
  const ranked = edges
    .map((edge) => ({ edge, node: nodes.get(end(edge)) }))
    .filter((one): one is { edge: PanelEdge; node: PlacedNode } => one.node !== undefined && one.node.id !== here.id)
    .sort(
      (a, b) =>
        Number(b.edge.onChain) - Number(a.edge.onChain) ||
        Number(b.edge.onCriticalPath) - Number(a.edge.onCriticalPath) ||
        distance(a.node, here) - distance(b.node, here),
    );
  return ranked[0]?.node.id;
}

/** The nearest node whose extent along the flow overlaps that of `here`, on the asked side. */
function beside(nodes: readonly PlacedNode[], here: PlacedNode, after: boolean, down: boolean): string | undefined {
  const across = (node: PlacedNode): number => (down ? node.x - here.x : node.y - here.y);
  const along = (node: PlacedNode): number => Math.abs(down ? node.y - here.y : node.x - here.x);
  const room = (node: PlacedNode): number => (down ? node.height + here.height : node.width + here.width) / 2;
  const candidates = nodes.filter((node) => node.id !== here.id && (after ? across(node) > 0 : across(node) < 0));
  const level = candidates.filter((node) => along(node) < room(node));
  const ranked = level.sort((a, b) => Math.abs(across(a)) - Math.abs(across(b)));
  return ranked[0]?.id;
}

function distance(a: PlacedNode, b: PlacedNode): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The nearest node on a side, what lies straight there before what lies askew; the first node where none is chosen. */
export function nearest(layout: Layout, from: string, key: Arrow): string | undefined {
  const here = layout.nodes.find((node) => node.id === from);
  if (!here) return layout.nodes[0]?.id;
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  const along = (node: PlacedNode): number => sign * (sideways ? node.x - here.x : node.y - here.y);
  const across = (node: PlacedNode): number => Math.abs(sideways ? node.y - here.y : node.x - here.x);
  const far = (node: PlacedNode): number => along(node) + 2 * across(node);
  return layout.nodes.filter((node) => along(node) > 0).sort((a, b) => far(a) - far(b))[0]?.id;
}

/** Rows that PageUp and PageDown pass. */
const PAGE = 10;

/** The row of a table that a key leads to from another, undefined for a key that leads to none. */
export function rowStep(key: string, at: number, count: number): number | undefined {
  const wanted = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + PAGE, PageUp: at - PAGE, Home: 0, End: count }[
    key
  ];
  return wanted === undefined ? undefined : Math.min(Math.max(wanted, 0), count - 1);
}
