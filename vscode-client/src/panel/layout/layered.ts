/**
 * The layered layout: causes before effects, few crossings, followed edges straight.
 *
 * Invariant: a pure function of its input: the same boxes and links in the same order give the same picture, and no two
 * boxes overlap.
 */
import { groupBy } from "../../shared/group";
import {
  coordGreedy,
  coordSimplex,
  decrossTwoLayer,
  graph as makeDag,
  layeringLongestPath,
  layeringSimplex,
  type MutGraphNode,
  sugiyama,
  twolayerGreedy,
} from "d3-dag";
import { linksToTurn } from "./acyclic";
import { connectedParts, pack, type Part } from "./components";
import type { Box, Layout, LayoutInput, Link, PlacedBox, Point, Route } from "./types";

/** Above this many links the simplex methods take seconds instead of a fraction of one. */
const SIMPLEX_LINKS = 1_500;

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
      routes.push({ id: route.id, points: route.points.map(([x, y]): Point => [x + corner.x, y + corner.y]) });
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
  const dag = makeDag<Box, Link[]>();
  const nodes = new Map<string, MutGraphNode<Box, Link[]>>();
  for (const box of part.boxes) nodes.set(box.id, dag.node(box));
  for (const bundle of bundles.values()) {
    const [first] = bundle;
    if (!first) continue;
    const [from, to] = turned.has(first.id) ? [first.target, first.source] : [first.source, first.target];
    const source = nodes.get(from);
    const target = nodes.get(to);
    if (source && target) dag.link(source, target, bundle);
  }
  const small = bundles.size <= SIMPLEX_LINKS;
  const size = sugiyama()
    .layering(small ? layeringSimplex() : layeringLongestPath())
    .decross(decrossTwoLayer().order(twolayerGreedy()))
    .coord(small ? coordSimplex().weight(({ data }: { data: Link[] }) => straightness(data)) : coordGreedy())
    .nodeSize((node: { data: Box }) => [node.data.width, node.data.height] as const)
    .gap([input.boxGap, input.layerGap])(dag);

  const boxes = [...dag.nodes()].map((node): PlacedBox => ({ ...node.data, x: node.x, y: node.y }));
  const byId = new Map(boxes.map((box) => [box.id, box]));
  const routes: Route[] = [];
  for (const link of dag.links()) {
    const path = clip(
      link.points.map(([x, y]): Point => [x, y]),
      byId.get(link.source.data.id),
      byId.get(link.target.data.id),
    );
    link.data.forEach((one, index) => {
      const shift = (index - (link.data.length - 1) / 2) * 7;
      const points = path.map(([x, y]): Point => [x + shift, y]);
      routes.push({ id: one.id, points: turned.has(one.id) ? points.reverse() : points });
    });
  }
  for (const link of part.links) {
    const box = link.source === link.target ? byId.get(link.source) : undefined;
    if (box) routes.push({ id: link.id, points: loop(box) });
  }
  return { boxes, routes, width: size.width, height: size.height };
}

function straightness(bundle: readonly Link[]): readonly [number, number, number] {
  const weight = Math.max(1, ...bundle.map((link) => link.weight));
  return [weight, 2 * weight, 8 * weight];
}

/** d3-dag routes between centres: start and end at the borders that face each other instead. */
function clip(points: Point[], source: PlacedBox | undefined, target: PlacedBox | undefined): Point[] {
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last || !source || !target) return points;
  return [[first[0], source.y + source.height / 2], ...points.slice(1, -1), [last[0], target.y - target.height / 2]];
}

/** A small loop at a box's right side. */
function loop(box: PlacedBox): Point[] {
  const right = box.x + box.width / 2;
  return [
    [right, box.y - 8],
    [right + 16, box.y],
    [right, box.y + 8],
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
    routes: layout.routes.map((route) => ({ id: route.id, points: route.points.map(([x, y]): Point => [y, x]) })),
    width: layout.height,
    height: layout.width,
    flow: "right",
  };
}
