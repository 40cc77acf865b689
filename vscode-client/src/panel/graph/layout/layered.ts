/**
 * The layered layout: causes before effects, few crossings, straight chains.
 *
 * Invariant: the layout is a pure function of its input: the same nodes and links in the same order give the same picture, and no two
 * nodes overlap.
 */
import { groupBy } from "../../../shared/group";
import {
  type Coord,
  decrossTwoLayer,
  graph as makeDag,
  layeringSimplex,
  type MutGraph,
  type MutGraphNode,
  type SugiNode,
  type SugiSeparation,
  sugiyama,
  twolayerAgg,
  twolayerGreedy,
} from "d3-dag";
import { linksToTurn } from "./acyclic";
import { connectedParts, pack, type Part } from "./components";
import { align, type Segment } from "./coordinates";
import type { LayoutNode, Layout, LayoutInput, Link, PlacedNode, Point, Route } from "./types";

/** More passes over the layers' order cost time and remove hardly a crossing. */
const ORDER_PASSES = 8;
/** Layers that edges may cross in all. */
const CROSSING_BUDGET = 1_200;
/** The long part of an edge is to be straight, its ends may bend. */
const DUMMY_WEIGHT = 4;

export function layered(input: LayoutInput): Layout {
  const known = new Set(input.nodes.map((node) => node.id));
  const links = input.links.filter((link) => known.has(link.source) && known.has(link.target));
  const upright = input.flow === "down" ? input.nodes : input.nodes.map(turnNode);
  const placed = connectedParts(upright, links).map((part) => layPart(part, input));
  const area = placed.reduce((sum, part) => sum + part.width * part.height, 0);
  const gap = Math.max(input.nodeGap * 2, input.layerGap / 2);
  const corners = pack(placed, Math.sqrt(area) * 1.3, gap);
  const nodes: PlacedNode[] = [];
  const routes: Route[] = [];
  placed.forEach((part, index) => {
    const corner = corners[index] ?? { x: 0, y: 0 };
    for (const node of part.boxes) nodes.push({ ...node, x: node.x + corner.x, y: node.y + corner.y });
    for (const route of part.routes) {
      const points = route.points.map(([x, y]): Point => [x + corner.x, y + corner.y]);
      routes.push({ ...route, points });
    }
  });
  const order = new Map(input.nodes.map((node, index) => [node.id, index]));
  nodes.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
  const drawn: Layout = { nodes, routes, ...extent(nodes, routes), flow: "down" };
  return input.flow === "down" ? drawn : turn(drawn);
}

interface LaidPart {
  boxes: PlacedNode[];
  routes: Route[];
  width: number;
  height: number;
}

/** One connected part, flowing downwards, its top left corner at (0, 0). */
function layPart(part: Part, input: LayoutInput): LaidPart {
  const turned = linksToTurn(
    part.nodes.map((node) => node.id),
    part.links,
  );
  const proper = part.links.filter((link) => link.source !== link.target);
  const bundles = groupBy(proper, (link) => {
    const [from, to] = turned.has(link.id) ? [link.target, link.source] : [link.source, link.target];
    return `${from}\u0000${to}`;
  });
  const routed = withinBudget(part.nodes, [...bundles.values()], turned);
  const dag = makeDagOf(part.nodes, routed, turned);
  const size = sugiyama()
    .layering(layeringSimplex())
    .decross(decrossTwoLayer().order(twolayerGreedy().base(twolayerAgg())).passes(ORDER_PASSES))
    .coord(coordinates)
    .nodeSize((node: { data: LayoutNode }) => [node.data.width, node.data.height] as const)
    .gap([input.nodeGap, input.layerGap])(dag);

  const nodes = [...dag.nodes()].map((node): PlacedNode => ({ ...node.data, x: node.x, y: node.y }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const bands = layerBands(nodes);
  const routes: Route[] = [];
  for (const link of dag.links()) {
    const path = route(
      link.points.map(([x, y]): Point => [x, y]),
      byId.get(link.source.data.id),
      byId.get(link.target.data.id),
      bands,
    );
    link.data.forEach((one, index) => {
      const shift = (index - (link.data.length - 1) / 2) * 7;
      const points = path.map(([x, y]): Point => [x + shift, y]);
      routes.push({ id: one.id, points: turned.has(one.id) ? points.reverse() : points });
    });
  }
  const drawn = new Set(routes.map((one) => one.id));
  for (const link of proper.filter((one) => !drawn.has(one.id))) {
    routes.push({ id: link.id, points: direct(byId.get(link.source), byId.get(link.target)) });
  }
  for (const link of part.links) {
    const node = link.source === link.target ? byId.get(link.source) : undefined;
    if (node) routes.push({ id: link.id, points: loop(node), bends: true });
  }
  return { boxes: nodes, routes, width: size.width, height: size.height };
}

type Dag = MutGraph<LayoutNode, Link[]>;

function makeDagOf(
  boxes: readonly LayoutNode[],
  bundles: readonly (readonly Link[])[],
  turned: ReadonlySet<string>,
): Dag {
  const dag = makeDag<LayoutNode, Link[]>();
  const nodes = new Map<string, MutGraphNode<LayoutNode, Link[]>>();
  for (const node of boxes) nodes.set(node.id, dag.node(node));
  for (const bundle of bundles) {
    const [first] = bundle;
    if (!first) continue;
    const [from, to] = turned.has(first.id) ? [first.target, first.source] : [first.source, first.target];
    const source = nodes.get(from);
    const target = nodes.get(to);
    if (source && target) dag.link(source, target, [...bundle]);
  }
  return dag;
}

/**
 * The bundles to lead round the nodes. Each layer that an edge crosses costs time; beyond the budget the longest edges that
 * nobody follows are left out, to be drawn straight behind the nodes.
 */
function withinBudget(
  nodes: readonly LayoutNode[],
  bundles: readonly Link[][],
  turned: ReadonlySet<string>,
): readonly Link[][] {
  const dag = makeDagOf(nodes, bundles, turned);
  layeringSimplex()(dag, () => 1);
  const spans = new Map([...dag.links()].map(({ source, target, data }) => [data[0]?.id, target.y - source.y]));
  const span = (bundle: readonly Link[]): number => spans.get(bundle[0]?.id) ?? 1;
  const ranked = bundles
    .map((bundle, index) => ({ bundle, index, cost: span(bundle) - 1 }))
    .sort((a, b) => Number(followed(b.bundle)) - Number(followed(a.bundle)) || a.cost - b.cost || a.index - b.index);
  let spent = 0;
  const kept = ranked.filter(({ bundle, cost }) => (spent += cost) <= CROSSING_BUDGET || followed(bundle));
  return kept.sort((a, b) => a.index - b.index).map(({ bundle }) => bundle);
}

function followed(bundle: readonly Link[]): boolean {
  return bundle.some((link) => link.weight > 1);
}

/** From border to border, whatever lies between. */
function direct(source: PlacedNode | undefined, target: PlacedNode | undefined): Point[] {
  if (!source || !target) return [];
  const side = target.y > source.y ? 1 : -1;
  return [
    [source.x, source.y + (side * source.height) / 2],
    [target.x, target.y - (side * target.height) / 2],
  ];
}

/** Our way of placing the nodes of each layer, in d3-dag's terms. */
const coordinates: Coord<LayoutNode, Link[]> = (layers, separation) => {
  const position = new Map(layers.flatMap((layer) => layer.map((node, index) => [node, index] as const)));
  const gaps = layers.map((layer) => layer.map((node, index) => (index > 0 ? separation(layer[index - 1], node) : 0)));
  const segments: Segment[] = layers.flatMap((layer, number) =>
    layer.flatMap((node, upper) =>
      [...node.children()].map((child) => ({
        layer: number,
        upper,
        lower: position.get(child) ?? 0,
        weight: weightOf(node as SugiNode<LayoutNode, Link[]>, child as SugiNode<LayoutNode, Link[]>),
      })),
    ),
  );
  const numbers = new Map<unknown, number>();
  const bends = layers.map((layer) =>
    layer.map(({ data }) => {
      if (data.role === "node") return -1;
      if (!numbers.has(data.link)) numbers.set(data.link, numbers.size);
      return numbers.get(data.link) ?? -1;
    }),
  );
  const centres = align(gaps, segments, bends);
  const edges = layers.flatMap((layer, number) => borders(layer, centres[number] ?? [], separation));
  const left = Math.min(...edges.map((edge) => edge.left));
  layers.forEach((layer, number) => {
    layer.forEach((node, index) => {
      node.x = (centres[number]?.[index] ?? 0) - left;
    });
  });
  return Math.max(...edges.map((edge) => edge.right)) - left;
};

function borders<N, L>(
  layer: readonly SugiNode<N, L>[],
  centres: readonly number[],
  separation: SugiSeparation<N, L>,
): { left: number; right: number }[] {
  const left = (centres[0] ?? 0) - separation(undefined, layer[0]);
  const right = (centres.at(-1) ?? 0) + separation(layer.at(-1), undefined);
  return [{ left, right }];
}

/** How much a piece of an edge is to be straight: what is followed more, what is between layers more. */
function weightOf(upper: SugiNode<LayoutNode, Link[]>, lower: SugiNode<LayoutNode, Link[]>): number {
  const dummy = [upper, lower].filter((node) => node.data.role === "link").length;
  const bundle = [upper, lower].map(({ data }) => (data.role === "link" ? data.link.data : undefined)).find(Boolean);
  const direct =
    upper.data.role === "node" && lower.data.role === "node"
      ? [...upper.data.node.childLinksTo(lower.data.node)].flatMap((link) => link.data)
      : [];
  const weight = Math.max(1, ...(bundle ?? direct).map((link) => link.weight));
  return weight * (dummy === 2 ? DUMMY_WEIGHT * DUMMY_WEIGHT : dummy === 1 ? DUMMY_WEIGHT : 2);
}

/** Half the height of each layer's nodes, by the y of their centres. */
function layerBands(nodes: readonly PlacedNode[]): ReadonlyMap<number, number> {
  const bands = new Map<number, number>();
  for (const node of nodes) {
    const layer = Math.round(node.y);
    bands.set(layer, Math.max(bands.get(layer) ?? 0, node.height / 2));
  }
  return bands;
}

/**
 * d3-dag routes between centres: start and end at the borders that face each other instead, and cross each layer in
 * between straight, so that the curve does not cut the corners of its nodes.
 */
function route(
  points: Point[],
  source: PlacedNode | undefined,
  target: PlacedNode | undefined,
  bands: ReadonlyMap<number, number>,
): Point[] {
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last || !source || !target) return points;
  const between = points.slice(1, -1).flatMap(([x, y]): Point[] => {
    const half = bands.get(Math.round(y)) ?? 0;
    return half > 0 ? [[x, y - half], [x, y + half]] : [[x, y]]; // prettier-ignore
  });
  return [[first[0], source.y + source.height / 2], ...between, [last[0], target.y - target.height / 2]];
}

/** A small loop at a node's side: start, the two points that pull the curve, end. */
function loop(node: PlacedNode): Point[] {
  const right = node.x + node.width / 2;
  return [
    [right, node.y - 9],
    [right + 24, node.y - 16],
    [right + 24, node.y + 16],
    [right, node.y + 9],
  ];
}

function extent(nodes: readonly PlacedNode[], routes: readonly Route[]): { width: number; height: number } {
  let width = 0;
  let height = 0;
  for (const node of nodes) {
    width = Math.max(width, node.x + node.width / 2);
    height = Math.max(height, node.y + node.height / 2);
  }
  for (const route of routes) {
    for (const [x, y] of route.points) {
      width = Math.max(width, x);
      height = Math.max(height, y);
    }
  }
  return { width, height };
}

function turnNode(node: LayoutNode): LayoutNode {
  return { id: node.id, width: node.height, height: node.width };
}

function turn(layout: Layout): Layout {
  return {
    nodes: layout.nodes.map((node) => ({ id: node.id, width: node.height, height: node.width, x: node.y, y: node.x })),
    routes: layout.routes.map((route) => ({ ...route, points: route.points.map(([x, y]): Point => [y, x]) })),
    width: layout.height,
    height: layout.width,
    flow: "right",
  };
}
