/**
 * Where an arrow key leads: along the flow to a neighbour by an edge, across it to the nearest box beside.
 *
 * Invariant: every box of a connected graph can be reached by arrows, and a step along an edge that the chain takes goes
 * along the chain.
 */
import type { Layout, PlacedBox } from "../layout/types";
import type { PanelEdge, PanelGraph } from "./graph";

export type Arrow = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight";

export function isArrow(key: string): key is Arrow {
  return key === "ArrowUp" || key === "ArrowDown" || key === "ArrowLeft" || key === "ArrowRight";
}

/** The node to go to from `from`, or undefined when there is none in that direction. */
export function step(graph: PanelGraph, layout: Layout, from: string, key: Arrow): string | undefined {
  const boxes = new Map(layout.boxes.map((box) => [box.id, box]));
  const here = boxes.get(from);
  if (!here) return undefined;
  const down = layout.flow === "down";
  const [forward, back] = down ? ["ArrowDown", "ArrowUp"] : ["ArrowRight", "ArrowLeft"];
  if (key === forward) return follow(graph.outgoing.get(from) ?? [], (edge) => edge.target, boxes, here);
  if (key === back) return follow(graph.incoming.get(from) ?? [], (edge) => edge.source, boxes, here);
  return beside(layout.boxes, here, key === "ArrowRight" || key === "ArrowDown", down);
}

/** Where to begin: what the answer is about, else the root, the first step of the chain, the largest change, the first box. */
export function start(graph: PanelGraph): string | undefined {
  if (graph.first !== undefined && graph.byId.has(graph.first)) return graph.first;
  const first = graph.nodes.find((node) => node.root) ?? graph.nodes.find((node) => node.steps.includes(1));
  const [largest] = [...graph.nodes].sort((a, b) => Math.abs(b.deltaNs) - Math.abs(a.deltaNs));
  return (first ?? largest)?.id;
}

function follow(
  edges: readonly PanelEdge[],
  end: (edge: PanelEdge) => string,
  boxes: ReadonlyMap<string, PlacedBox>,
  here: PlacedBox,
): string | undefined {
  const ranked = edges
    .map((edge) => ({ edge, box: boxes.get(end(edge)) }))
    .filter((one): one is { edge: PanelEdge; box: PlacedBox } => one.box !== undefined && one.box.id !== here.id)
    .sort(
      (a, b) =>
        Number(b.edge.onChain) - Number(a.edge.onChain) ||
        Number(b.edge.onCriticalPath) - Number(a.edge.onCriticalPath) ||
        distance(a.box, here) - distance(b.box, here),
    );
  return ranked[0]?.box.id;
}

/** The nearest box whose extent along the flow overlaps that of `here`, on the asked side. */
function beside(boxes: readonly PlacedBox[], here: PlacedBox, after: boolean, down: boolean): string | undefined {
  const across = (box: PlacedBox): number => (down ? box.x - here.x : box.y - here.y);
  const along = (box: PlacedBox): number => Math.abs(down ? box.y - here.y : box.x - here.x);
  const room = (box: PlacedBox): number => (down ? box.height + here.height : box.width + here.width) / 2;
  const candidates = boxes.filter((box) => box.id !== here.id && (after ? across(box) > 0 : across(box) < 0));
  const level = candidates.filter((box) => along(box) < room(box));
  const ranked = level.sort((a, b) => Math.abs(across(a)) - Math.abs(across(b)));
  return ranked[0]?.id;
}

function distance(a: PlacedBox, b: PlacedBox): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** The nearest box on a side, what lies straight there before what lies askew; the first box where none is chosen. */
export function nearest(layout: Layout, from: string, key: Arrow): string | undefined {
  const here = layout.boxes.find((box) => box.id === from);
  if (!here) return layout.boxes[0]?.id;
  const sideways = key === "ArrowLeft" || key === "ArrowRight";
  const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  const along = (box: PlacedBox): number => sign * (sideways ? box.x - here.x : box.y - here.y);
  const across = (box: PlacedBox): number => Math.abs(sideways ? box.y - here.y : box.x - here.x);
  const far = (box: PlacedBox): number => along(box) + 2 * across(box);
  return layout.boxes.filter((box) => along(box) > 0).sort((a, b) => far(a) - far(b))[0]?.id;
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
