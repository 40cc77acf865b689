/**
 * The layered layout: causes before effects, few crossings, followed edges straight.
 *
 * Invariant: a pure function of its input: the same boxes and links in the same order give the same picture, and no two
 * boxes overlap.
 */
import { groupBy } from "../../shared/group";
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
import type { Box, Layout, LayoutInput, Link, PlacedBox, Point, Route } from "./types";

/** More passes over the layers' order cost time and remove hardly a crossing. */
const ORDER_PASSES = 8;
/** Layers that edges may cross in all. */
const CROSSING_BUDGET = 1_200;
/** The long part of an edge is to be straight, its ends may bend. */
const DUMMY_WEIGHT = 4;

export function layered(input: LayoutInput): Layout {
  const known = new Set(input.boxes.map((box) => box.id));
  const links = input.links.filter((link) => known.has(link.source) && known.has(link.target));
  const upright = input.flow === "down" ? input.boxes : input.boxes.map(turnBox);
  const placed = connectedParts(upright, links).map((part) => layPart(part, input));
  const area = placed.reduce((sum, part) => sum + part.width * part.height, 0);
  const gap = Math.max(input.boxGap * 2, input.layerGap / 2);
  const corners = pack(placed, Math.sqrt(area) * 1.3, gap);
  const boxes: PlacedBox[] = [];
  const routes: Route[] = [];
  placed.forEach((part, index) => {
    const corner = corners[index] ?? { x: 0, y: 0 };
    for (const box of part.boxes) boxes.push({ ...box, x: box.x + corner.x, y: box.y + corner.y });
    for (const route of part.routes) {
      const points = route.points.map(([x, y]): Point => [x + corner.x, y + corner.y]);
      routes.push({ ...route, points });
    }
  });
  const order = new Map(input.boxes.map((box, index) => [box.id, index]));
  boxes.sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
  const drawn: Layout = { boxes, routes, ...extent(boxes, routes), flow: "down" };
  return input.flow === "down" ? drawn : turn(drawn);
}

interface LaidPart {
  boxes: PlacedBox[];
  routes: Route[];
  width: number;
  height: number;
}

/** One connected part, flowing downwards, its top left corner at (0, 0). */
function layPart(part: Part, input: LayoutInput): LaidPart {
  const turned = linksToTurn(
    part.boxes.map((box) => box.id),
    part.links,
  );
  const proper = part.links.filter((link) => link.source !== link.target);
  const bundles = groupBy(proper, (link) => {
    const [from, to] = turned.has(link.id) ? [link.target, link.source] : [link.source, link.target];
    return `${from}\u0000${to}`;
  });
  const routed = withinBudget(part.boxes, [...bundles.values()], turned);
  const dag = makeDagOf(part.boxes, routed, turned);
  const size = sugiyama()
    .layering(layeringSimplex())
    .decross(decrossTwoLayer().order(twolayerGreedy().base(twolayerAgg())).passes(ORDER_PASSES))
    .coord(coordinates)
    .nodeSize((node: { data: Box }) => [node.data.width, node.data.height] as const)
    .gap([input.boxGap, input.layerGap])(dag);

  const boxes = [...dag.nodes()].map((node): PlacedBox => ({ ...node.data, x: node.x, y: node.y }));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const bands = layerBands(boxes);
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
    const box = link.source === link.target ? byId.get(link.source) : undefined;
    if (box) routes.push({ id: link.id, points: loop(box), bends: true });
  }
  return { boxes, routes, width: size.width, height: size.height };
}

type Dag = MutGraph<Box, Link[]>;

function makeDagOf(boxes: readonly Box[], bundles: readonly (readonly Link[])[], turned: ReadonlySet<string>): Dag {
  const dag = makeDag<Box, Link[]>();
  const nodes = new Map<string, MutGraphNode<Box, Link[]>>();
  for (const box of boxes) nodes.set(box.id, dag.node(box));
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
 * The bundles to lead round the boxes. Each layer that an edge crosses costs time; beyond the budget the longest edges that
 * nobody follows are left out, to be drawn straight behind the boxes.
 */
function withinBudget(
  boxes: readonly Box[],
  bundles: readonly Link[][],
  turned: ReadonlySet<string>,
): readonly Link[][] {
  const dag = makeDagOf(boxes, bundles, turned);
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
function direct(source: PlacedBox | undefined, target: PlacedBox | undefined): Point[] {
  if (!source || !target) return [];
  const side = target.y > source.y ? 1 : -1;
  return [
    [source.x, source.y + (side * source.height) / 2],
    [target.x, target.y - (side * target.height) / 2],
  ];
}

/** Our way of placing the boxes of each layer, in d3-dag's terms. */
const coordinates: Coord<Box, Link[]> = (layers, separation) => {
  const position = new Map(layers.flatMap((layer) => layer.map((node, index) => [node, index] as const)));
  const gaps = layers.map((layer) => layer.map((node, index) => (index > 0 ? separation(layer[index - 1], node) : 0)));
  const segments: Segment[] = layers.flatMap((layer, number) =>
    layer.flatMap((node, upper) =>
      [...node.children()].map((child) => ({
        layer: number,
        upper,
        lower: position.get(child) ?? 0,
        weight: weightOf(node as SugiNode<Box, Link[]>, child as SugiNode<Box, Link[]>),
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
function weightOf(upper: SugiNode<Box, Link[]>, lower: SugiNode<Box, Link[]>): number {
  const dummy = [upper, lower].filter((node) => node.data.role === "link").length;
  const bundle = [upper, lower].map(({ data }) => (data.role === "link" ? data.link.data : undefined)).find(Boolean);
  const direct =
    upper.data.role === "node" && lower.data.role === "node"
      ? [...upper.data.node.childLinksTo(lower.data.node)].flatMap((link) => link.data)
      : [];
  const weight = Math.max(1, ...(bundle ?? direct).map((link) => link.weight));
  return weight * (dummy === 2 ? DUMMY_WEIGHT * DUMMY_WEIGHT : dummy === 1 ? DUMMY_WEIGHT : 2);
}

/** Half the height of each layer's boxes, by the y of their centres. */
function layerBands(boxes: readonly PlacedBox[]): ReadonlyMap<number, number> {
  const bands = new Map<number, number>();
  for (const box of boxes) {
    const layer = Math.round(box.y);
    bands.set(layer, Math.max(bands.get(layer) ?? 0, box.height / 2));
  }
  return bands;
}

/**
 * d3-dag routes between centres: start and end at the borders that face each other instead, and cross each layer in
 * between straight, so that the curve does not cut the corners of its boxes.
 */
function route(
  points: Point[],
  source: PlacedBox | undefined,
  target: PlacedBox | undefined,
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

/** A small loop at a box's side: start, the two points that pull the curve, end. */
function loop(box: PlacedBox): Point[] {
  const right = box.x + box.width / 2;
  return [
    [right, box.y - 9],
    [right + 24, box.y - 16],
    [right + 24, box.y + 16],
    [right, box.y + 9],
  ];
}

function extent(boxes: readonly PlacedBox[], routes: readonly Route[]): { width: number; height: number } {
  let width = 0;
  let height = 0;
  for (const box of boxes) {
    width = Math.max(width, box.x + box.width / 2);
    height = Math.max(height, box.y + box.height / 2);
  }
  for (const route of routes) {
    for (const [x, y] of route.points) {
      width = Math.max(width, x);
      height = Math.max(height, y);
    }
  }
  return { width, height };
}

function turnBox(box: Box): Box {
  return { id: box.id, width: box.height, height: box.width };
}

function turn(layout: Layout): Layout {
  return {
    boxes: layout.boxes.map((box) => ({ id: box.id, width: box.height, height: box.width, x: box.y, y: box.x })),
    routes: layout.routes.map((route) => ({ ...route, points: route.points.map(([x, y]): Point => [y, x]) })),
    width: layout.height,
    height: layout.width,
    flow: "right",
  };
}
