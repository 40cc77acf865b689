/** The layered layout, on generated graphs. */
import { describe, expect, test } from "vitest";
import { linksToTurn } from "../../../../src/panel/graph/layout/acyclic";
import { connectedParts, pack } from "../../../../src/panel/graph/layout/components";
import { layered } from "../../../../src/panel/graph/layout/layered";
import { type Label, overlap, separateLabels } from "../../../../src/panel/graph/layout/labels";
import type { LayoutNode, Flow, Layout, LayoutInput, Link, PlacedNode } from "../../../../src/panel/graph/layout/types";
import { random, type RandomNumbers } from "../../../support/random";

function nodes(number: number, random: RandomNumbers): LayoutNode[] {
  return Array.from({ length: number }, (_, index) => ({
    id: `n${index}`,
    width: 120 + random.below(140),
    height: 46,
  }));
}

function link(source: number, target: number, index: number): Link {
  return { id: `e${index}`, source: `n${source}`, target: `n${target}`, weight: index % 7 === 0 ? 4 : 1 };
}

/** Makes a connected graph like a call graph: each node except the first is below an earlier one; other links are shortcuts. */
function callGraph(number: number, perBox: number, seed: number): LayoutInput {
  const numbers = random(seed);
  const links = Array.from({ length: number - 1 }, (_, index) =>
    link(Math.max(0, index - numbers.below(12)), index + 1, index),
  );
  while (links.length < number * perBox) {
    const source = numbers.below(number - 1);
    const target = source + 1 + numbers.below(Math.min(30, number - source - 1));
    links.push(link(source, target, links.length));
  }
  return { nodes: nodes(number, numbers), links, flow: "down", layerGap: 60, nodeGap: 18 };
}

function overlapping(layout: Layout): string[] {
  const found: string[] = [];
  layout.nodes.forEach((a, index) => {
    for (const b of layout.nodes.slice(index + 1)) {
      const apart =
        Math.abs(a.x - b.x) >= (a.width + b.width) / 2 - 0.01 ||
        Math.abs(a.y - b.y) >= (a.height + b.height) / 2 - 0.01;
      if (!apart) found.push(`${a.id} and ${b.id}`);
    }
  });
  return found;
}

function centres(layout: Layout): Map<string, PlacedNode> {
  return new Map(layout.nodes.map((node) => [node.id, node]));
}

/** Counts the pairs of links whose straight lines between node centres cross. */
function crossings(layout: Layout, links: readonly Link[]): number {
  const at = centres(layout);
  const lines = links.flatMap((one) => {
    const a = at.get(one.source);
    const b = at.get(one.target);
    return a && b ? [{ a, b }] : [];
  });
  let crossed = 0;
  lines.forEach((one, index) => {
    for (const other of lines.slice(index + 1)) {
      if ([other.a, other.b].includes(one.a) || [other.a, other.b].includes(one.b)) continue;
      const side = (p: PlacedNode, q: PlacedNode, r: PlacedNode): number =>
        (q.x - p.x) * (r.y - p.y) - (q.y - p.y) * (r.x - p.x);
      const apart = side(one.a, one.b, other.a) * side(one.a, one.b, other.b) < 0;
      if (apart && side(other.a, other.b, one.a) * side(other.a, other.b, one.b) < 0) crossed += 1;
    }
  });
  return crossed;
}

describe.each(["down", "right"] as Flow[])("layered layout that flows %s", (flow) => {
  test.each([
    [1, 0],
    [2, 1],
    [40, 1.3],
    [120, 2],
    [300, 1.3],
  ])("of %i nodes with %d links each has no overlapping nodes", (number, perBox) => {
    const layout = layered({ ...callGraph(number, perBox, 7), flow });
    expect(layout.nodes).toHaveLength(number);
    expect(overlapping(layout)).toEqual([]);
  });

  test("puts causes before effects", () => {
    const input = { ...callGraph(80, 1.4, 3), flow };
    const at = centres(layered(input));
    const along = (id: string): number => (flow === "down" ? at.get(id)?.y : at.get(id)?.x) ?? Number.NaN;
    for (const one of input.links) expect(along(one.source)).toBeLessThan(along(one.target));
  });

  test("starts at the origin and fits its size", () => {
    const layout = layered({ ...callGraph(60, 1.4, 5), flow });
    const left = Math.min(...layout.nodes.map((node) => node.x - node.width / 2));
    const top = Math.min(...layout.nodes.map((node) => node.y - node.height / 2));
    expect(left).toBeCloseTo(0, 3);
    expect(top).toBeCloseTo(0, 3);
    for (const node of layout.nodes) {
      expect(node.x + node.width / 2).toBeLessThanOrEqual(layout.width + 0.01);
      expect(node.y + node.height / 2).toBeLessThanOrEqual(layout.height + 0.01);
    }
  });
});

test("layered layout of equal input is equal", () => {
  const input = callGraph(150, 1.5, 11);
  expect(layered(structuredClone(input))).toEqual(layered(input));
});

test("layered layout of a tree has no crossings", () => {
  const input = callGraph(60, 0, 2);
  const tree = {
    ...input,
    links: input.nodes.slice(1).map((_, index) => link(Math.floor(index / 3), index + 1, index)),
  };
  expect(crossings(layered(tree), tree.links)).toBe(0);
});

test("layered layout has less than half the crossings of the given order", () => {
  const input = callGraph(150, 1.3, 19);
  const layout = layered(input);
  const rows = new Map<number, number>();
  const naive = {
    ...layout,
    nodes: input.nodes.map((node) => {
      const y = centres(layout).get(node.id)?.y ?? 0;
      const x = rows.get(y) ?? 0;
      rows.set(y, x + node.width + 18);
      return { ...node, x: x + node.width / 2, y };
    }),
  };
  expect(crossings(layout, input.links)).toBeLessThan(crossings(naive, input.links) / 2);
});

test("layered layout routes every link from border to border, with cycles and self-links", () => {
  const input = callGraph(40, 1.3, 23);
  const cyclic = { ...input, links: [...input.links, link(30, 2, 900), link(5, 5, 901), link(2, 30, 902)] };
  const layout = layered(cyclic);
  const at = centres(layout);
  expect(new Set(layout.routes.map((route) => route.id))).toEqual(new Set(cyclic.links.map((one) => one.id)));
  for (const one of cyclic.links) {
    if (one.source === one.target) continue;
    const points = layout.routes.find((route) => route.id === one.id)?.points ?? [];
    for (const [point, id] of [
      [points[0], one.source],
      [points.at(-1), one.target],
    ] as const) {
      const node = at.get(id);
      expect(Math.abs((point?.[1] ?? 0) - (node?.y ?? 0))).toBeCloseTo(23, 3);
      expect(Math.abs((point?.[0] ?? 0) - (node?.x ?? 0))).toBeLessThan((node?.width ?? 0) / 2);
    }
  }
});

test("layered layout separates parallel links", () => {
  const two = { id: "again", source: "n0", target: "n1", weight: 1 };
  const layout = layered({ ...callGraph(2, 1, 1), links: [link(0, 1, 0), two] });
  const [first, second] = layout.routes.map((route) => route.points[0]?.[0] ?? 0);
  expect(Math.abs((first ?? 0) - (second ?? 0))).toBeGreaterThan(4);
});

test("layered layout separates unconnected parts", () => {
  const input = callGraph(30, 1.2, 29);
  const again = input.nodes.map((node) => ({ ...node, id: `other-${node.id}` }));
  const layout = layered({ ...input, nodes: [...input.nodes, ...again] });
  expect(layout.nodes).toHaveLength(60);
  expect(overlapping(layout)).toEqual([]);
});

test("layered layout leaves out links to missing nodes", () => {
  const input = callGraph(3, 1, 31);
  const layout = layered({ ...input, links: [...input.links, link(0, 77, 99)] });
  expect(layout.routes.map((route) => route.id)).not.toContain("e99");
});

test("linksToTurn breaks every cycle and turns no link of an acyclic graph", () => {
  const ids = Array.from({ length: 50 }, (_, index) => `n${index}`);
  const numbers = random(37);
  const anyLinks = Array.from({ length: 200 }, (_, index) => link(numbers.below(50), numbers.below(50), index));
  const turned = linksToTurn(ids, anyLinks);
  const proper = anyLinks
    .filter((one) => one.source !== one.target)
    .map((one) => (turned.has(one.id) ? { ...one, source: one.target, target: one.source } : one));
  const remaining = new Set(ids);
  for (let removed = true; removed;) {
    removed = false;
    for (const id of remaining) {
      if (!proper.some((one) => one.target === id && remaining.has(one.source))) {
        remaining.delete(id);
        removed = true;
      }
    }
  }
  expect([...remaining]).toEqual([]);
  expect(linksToTurn(ids, callGraph(50, 2, 41).links).size).toBe(0);
});

test("connectedParts have every node and link, the largest first", () => {
  const input = callGraph(20, 1.2, 43);
  const lone = { id: "lone", width: 10, height: 10 };
  const parts = connectedParts([lone, ...input.nodes], input.links);
  expect(parts.map((part) => part.nodes.length)).toEqual([20, 1]);
  expect(parts[0]?.links).toHaveLength(input.links.length);
});

test("pack places rectangles without overlap inside the width", () => {
  const numbers = random(47);
  const sizes = Array.from({ length: 20 }, () => ({ width: 20 + numbers.below(80), height: 20 + numbers.below(80) }));
  const corners = pack(sizes, 250, 10);
  sizes.forEach((size, index) => {
    const corner = corners[index] ?? { x: Number.NaN, y: Number.NaN };
    expect(corner.x + size.width).toBeLessThanOrEqual(250);
    sizes.slice(0, index).forEach((other, before) => {
      const its = corners[before] ?? corner;
      const apart =
        corner.x >= its.x + other.width ||
        its.x >= corner.x + size.width ||
        corner.y >= its.y + other.height ||
        its.y >= corner.y + size.height;
      expect(apart).toBe(true);
    });
  });
});

test("separateLabels moves overlapping labels apart across the flow", () => {
  const crowded: Label[] = [0, 4, 8].map((x, index) => ({ id: `l${index}`, at: [x, 50], width: 60, height: 16 }));
  const apart = separateLabels(crowded, "down");
  expect(apart).toHaveLength(3);
  apart.forEach((a, index) => {
    for (const b of apart.slice(index + 1)) expect(overlap(a, b)).toBe(false);
    expect(a.at[1]).toBe(50);
  });
});

test("layered layout routes pass through no node except their ends", () => {
  const input = callGraph(120, 1.5, 53);
  const layout = layered(input);
  const ends = new Map(input.links.map((one) => [one.id, [one.source, one.target]]));
  const hits = layout.routes.flatMap((route) =>
    layout.nodes
      .filter((node) => !ends.get(route.id)?.includes(node.id))
      .filter((node) =>
        route.points.some(
          ([x, y]) => Math.abs(x - node.x) < node.width / 2 - 1 && Math.abs(y - node.y) < node.height / 2 - 1,
        ),
      )
      .map((node) => `${route.id} through ${node.id}`),
  );
  expect(hits).toEqual([]);
});

test("separateLabels without enough space drops labels instead of overlapping", () => {
  const crowded: Label[] = Array.from({ length: 40 }, (_, index) => ({
    id: `l${index}`,
    at: [0, 0],
    width: 90,
    height: 16,
  }));
  const shown = separateLabels(crowded, "right");
  expect(shown.length).toBeLessThan(40);
  expect(shown.length).toBeGreaterThan(10);
  shown.forEach((a, index) => {
    for (const b of shown.slice(index + 1)) expect(overlap(a, b)).toBe(false);
  });
});

test("layered layout with many long links has a route for each", () => {
  const input = callGraph(400, 1, 59);
  const numbers = random(61);
  const long = Array.from({ length: 400 }, (_, index) =>
    link(numbers.below(100), 300 + numbers.below(100), 10_000 + index),
  );
  const layout = layered({ ...input, links: [...input.links, ...long] });
  expect(layout.routes).toHaveLength(input.links.length + long.length);
  expect(layout.routes.filter((route) => route.points.length < 2)).toEqual([]);
  expect(overlapping(layout)).toEqual([]);
});
