/** The places of the calls of two flows, in all pictures and between them, on random flows. */
import { describe, expect, test } from "vitest";
import { boundedLines, movedCalls } from "../../../../../src/panel/views/requests/flow/layout/correspondence";
import { alignTimes, anchorOf, type Picture } from "../../../../../src/panel/views/requests/flow/layout/flow";
import type { FlowDrawing } from "../../../../../src/panel/views/requests/flow/layout/shapes";
import { sigmoid } from "../../../../../src/panel/views/requests/flow/layout/sigmoid";
import type { Flow as Direction, PlacedNode, Point } from "../../../../../src/panel/graph/layout/types";
import {
  betweenPicture,
  fold,
  pictureOf,
  type Prepared,
  prepare,
} from "../../../../../src/panel/views/requests/flow/layout/prepare";
import { significance } from "../../../../../src/panel/views/requests/flow/model/significance";
import { edgeTime } from "../../../../../src/panel/views/requests/flow/model/nodeTexts";
import { call, flow, randomFlow, times } from "../../../../support/flows";

const PICTURES: readonly Picture[] = ["before", "after", "union"];
const DIRECTIONS: readonly Direction[] = ["down", "right"];
const measure = (text: string): number => text.length * 6.5;

function prepared(seed: number, direction: Direction, anchor = "", isFolded = false): Prepared {
  const whole = randomFlow(seed, 20 + seed * 5);
  const found = significance(whole, { alpha: 0.05, slower: 0.02 });
  const wish = { flow: whole, found, repeats: isFolded, equal: isFolded, opened: new Set<string>(), anchor };
  return prepare(wish, fold(wish), direction, measure);
}

const SEEDS = Array.from({ length: 10 }, (_, index) => index + 1);

function overlapping(nodes: readonly PlacedNode[]): string[] {
  const found: string[] = [];
  nodes.forEach((a, index) => {
    for (const b of nodes.slice(index + 1)) {
      const apart =
        Math.abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6 ||
        Math.abs(a.y - b.y) >= (a.height + b.height) / 2 - 1e-6;
      if (!apart) found.push(`${a.id} ${b.id}`);
    }
  });
  return found;
}

describe.each(DIRECTIONS)("flow layout that goes %s", (direction) => {
  test("has no overlapping nodes in any picture or between, folded or not", () => {
    for (const seed of SEEDS) {
      for (const fold of [false, true]) {
        const anchor = seed % 3 === 0 ? `c${seed}` : "";
        const flows = prepared(seed, direction, anchor, fold);
        for (const picture of PICTURES) expect(overlapping(pictureOf(flows, picture).nodes)).toEqual([]);
        for (const time of [0.1, 0.34, 0.45, 0.5, 0.66, 0.9]) {
          expect(overlapping(betweenPicture(flows, time).drawing.nodes)).toEqual([]);
        }
      }
    }
  });

  test("keeps siblings in order, calls after callers and places across in all pictures", () => {
    for (const seed of SEEDS) {
      const flows = prepared(seed, direction);
      const [before, after, union] = PICTURES.map((picture) => places(pictureOf(flows, picture), direction));
      for (const [id, place] of union ?? []) {
        for (const one of [before?.get(id), after?.get(id)]) if (one) expect(one.across).toBeCloseTo(place.across, 6);
        const parent = union?.get(flows.flow.byId.get(id)?.parent ?? "");
        if (parent) expect(place.along).toBeGreaterThan(parent.along);
      }
      for (const siblings of flows.flow.children.values()) {
        const lows = siblings.map((one) => flows.lows.get(one.id) ?? 0);
        expect(lows).toEqual([...lows].sort((a, b) => a - b));
      }
    }
  });

  test("draws every edge as long as its latency, up to its node", () => {
    for (const seed of SEEDS) {
      const flows = prepared(seed, direction);
      for (const picture of PICTURES) {
        const drawn = pictureOf(flows, picture);
        const ends = places(drawn, direction);
        for (const bar of drawn.bars) {
          const node = flows.boxes.find((one) => one.id === bar.id);
          const along = (point: Point): number => (direction === "down" ? point[1] : point[0]);
          expect(along(bar.to) - along(bar.from)).toBeCloseTo(node?.lengths[bar.side] ?? -1, 6);
          const sides = picture === "union" ? (["before", "after"] as const) : [picture];
          const longest = Math.max(...sides.map((side) => node?.lengths[side] ?? 0));
          expect(along(bar.from) + longest).toBeCloseTo(ends.get(bar.id)?.start ?? -1, 6);
        }
      }
    }
  });

  test("leads no edge over another node, except edges of moved calls", () => {
    for (const seed of SEEDS) {
      const flows = prepared(seed, direction);
      for (const picture of PICTURES) {
        const drawn = pictureOf(flows, picture);
        for (const edge of drawn.edges) {
          if (flows.flow.byId.get(edge.id)?.parent !== edge.caller) continue;
          const others = drawn.nodes.filter((node) => node.id !== edge.id && node.id !== edge.caller);
          expect(others.filter((node) => crosses(edge.path, node)).map((node) => `${edge.id} over ${node.id}`)).toEqual(
            [],
          );
        }
      }
    }
  });

  test("leads no line of a waiting call over a node", () => {
    let lines = 0;
    for (const seed of SEEDS) {
      const flows = prepared(seed, direction);
      for (const picture of PICTURES) {
        const drawn = pictureOf(flows, picture);
        for (const wait of drawn.joins.flatMap((join) => join.waits)) {
          lines += 1;
          expect(
            drawn.nodes.filter((node) => crosses(wait.path, node)).map((node) => `${wait.id} over ${node.id}`),
          ).toEqual([]);
        }
      }
    }
    expect(lines).toBeGreaterThan(20);
  });

  test("places labels without covering nodes or labels", () => {
    for (const seed of SEEDS) {
      const flows = prepared(seed, direction);
      for (const picture of PICTURES) {
        const drawn = pictureOf(flows, picture);
        const labels = drawn.labels.map(({ id, at: [x, y], align }): PlacedNode => {
          const one = flows.flow.byId.get(id);
          const width = one ? measure(edgeTime(one, picture === "union" ? "both" : picture)) : 0;
          return { id: `label of ${id}`, x: align === "start" ? x + width / 2 : x - width / 2, y, width, height: 12 };
        });
        expect(overlapping([...labels, ...drawn.nodes])).toEqual([]);
      }
    }
  });
});

describe("flow anchor", () => {
  test("has exactly the same place on both sides and between", () => {
    for (const seed of SEEDS) {
      const id = `c${seed + 3}`;
      const flows = prepared(seed, "down", id);
      const at = flows.anchor;
      expect(at).not.toBe("");
      const place = (drawn: FlowDrawing): Point[] =>
        drawn.nodes.flatMap((node) => (node.id === at ? [[node.x, node.y]] : []));
      const before = place(pictureOf(flows, "before"));
      expect(place(pictureOf(flows, "after"))).toEqual(before);
      expect(place(betweenPicture(flows, 0.5).drawing)).toEqual(before);
    }
  });

  test("moves the whole other side equally", () => {
    const flows = prepared(5, "down");
    const shifted = alignTimes(flows.boxes, flows.before, flows.after, "c9");
    const at = anchorOf(flows.boxes, "c9");
    const by = (flows.before.get(at) ?? 0) - (flows.after.get(at) ?? 0);
    for (const [id, start] of flows.after) expect(shifted.get(id)).toBeCloseTo(start + by, 6);
  });

  test("missing on one side is replaced by the nearest caller on both", () => {
    const flows = prepared(5, "down");
    for (const node of flows.boxes) {
      const at = anchorOf(flows.boxes, node.id);
      const lengths = flows.boxes.find((one) => one.id === at)?.lengths;
      expect([lengths?.before, lengths?.after]).not.toContain(null);
    }
  });
});

describe("betweenPicture", () => {
  test("at its ends equals the two states", () => {
    const flows = prepared(7, "down");
    const [start, end] = [betweenPicture(flows, 0), betweenPicture(flows, 1)];
    const spots = (drawn: FlowDrawing): string[] =>
      drawn.nodes.map((node) => `${node.id} ${node.x.toFixed(3)} ${node.y.toFixed(3)}`);
    expect(spots(start.drawing)).toEqual(spots(pictureOf(flows, "before")));
    expect(spots(end.drawing)).toEqual(spots(pictureOf(flows, "after")));
  });

  test("fades removed calls, then moves the others, then shows new calls", () => {
    const flows = prepared(11, "down");
    const [gone] = flows.flow.calls.filter((one) => one.status === "before");
    const [come] = flows.flow.calls.filter((one) => one.status === "after");
    const seen = [0, 0.2, 0.4, 0.6, 0.8, 1].map((time) => {
      const { opacity } = betweenPicture(flows, time);
      return [opacity(gone?.id ?? ""), opacity(come?.id ?? ""), opacity("c0")];
    });
    expect(seen.map(([first]) => first)).toEqual([1, expect.closeTo(0.4), 0, 0, 0, 0]);
    expect(seen.map(([, second]) => second)).toEqual([0, 0, 0, 0, expect.closeTo(0.4), 1]);
    expect(seen.every(([, , both]) => both === 1)).toBe(true);
  });
});

describe("correspondence lines", () => {
  test("are for calls where the pictures diverge, not for all calls below", () => {
    const flows = prepared(1, "down");
    const one = flow(
      call("root", "", { times: { before: times(null), after: times(null) } }),
      call("same", "root"),
      call("slower", "root", { times: { before: times(1e3), after: times(1e8) } }),
      call("below", "slower"),
    );
    const found = significance(one, { alpha: 0.05, slower: 0 });
    const wish = { flow: one, found, repeats: false, equal: false, opened: new Set<string>(), anchor: "" };
    const drawn = prepare(wish, one, "down", measure);
    expect(movedCalls(drawn.boxes, drawn.before, drawn.after)).toEqual(["slower"]);
    expect(movedCalls(flows.boxes, flows.before, flows.before)).toEqual([]);
  });

  test("are bounded, the selected ones first, and the rest is counted", () => {
    expect(boundedLines(["b"], ["a", "b", "c"], 2)).toEqual({ shown: ["b", "a"], hidden: 1 });
    expect(boundedLines([], [], 2)).toEqual({ shown: [], hidden: 0 });
  });
});

test("sigmoid is monotonic and bounded", () => {
  const scale = sigmoid([0, 100, 1e4, 1e6, 1e9], { shortest: 20, longest: 130 });
  const lengths = [0, 1, 100, 1e4, 1e6, 1e9, 1e14].map(scale);
  expect(lengths).toEqual([...lengths].sort((a, b) => a - b));
  expect([lengths[0], new Set(lengths).size]).toEqual([20, 7]);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(130);
  expect(sigmoid([], { shortest: 20, longest: 130 })(5)).toBeGreaterThan(20);
});

interface Place {
  across: number;
  along: number;
  start: number;
}

/** Returns by id the low side across the flow, and the middle and the start along it. */
function places(drawn: FlowDrawing, direction: Direction): Map<string, Place> {
  return new Map(
    drawn.nodes.map((node) => {
      const [across, along] = direction === "down" ? [node.x, node.y] : [node.y, node.x];
      const [breadth, depth] = direction === "down" ? [node.width, node.height] : [node.height, node.width];
      return [node.id, { across: across - breadth / 2, along, start: along - depth / 2 }];
    }),
  );
}

/** Returns whether a path of straight lines and small corners goes through the inside of a node. */
function crosses(path: string, node: PlacedNode): boolean {
  const points = [...path.matchAll(/(-?[\d.]+),(-?[\d.]+)/g)].map((one): Point => [Number(one[1]), Number(one[2])]);
  return points.slice(1).some((to, index) => {
    const from = points[index] ?? to;
    const inside = (low: number, high: number, middle: number, size: number): boolean =>
      low < middle + size / 2 - 1 && high > middle - size / 2 + 1;
    return (
      inside(Math.min(from[0], to[0]), Math.max(from[0], to[0]), node.x, node.width) &&
      inside(Math.min(from[1], to[1]), Math.max(from[1], to[1]), node.y, node.height)
    );
  });
}
