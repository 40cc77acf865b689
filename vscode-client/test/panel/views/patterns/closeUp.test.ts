/** Details of a pattern: the bars of its times, the brush on the time axis, and the diagram of moves. */
import { describe, expect, test } from "vitest";
import { labelPlace } from "../../../../src/panel/graph/layout/curve";
import { overlap } from "../../../../src/panel/graph/layout/labels";
import { layered } from "../../../../src/panel/graph/layout/layered";
import { between, dragged, gripAt, isWhole, timeOf } from "../../../../src/panel/views/patterns/brush";
import { barsPath, relativeShares, shares } from "../../../../src/panel/views/patterns/histogram";
import { diagramGraph, stateId, statesOf } from "../../../../src/panel/views/patterns/diagramGraph";
import { layoutInput } from "../../../../src/panel/graph/sizes";
import { placeLabels } from "../../../../src/panel/graph/shapes";
import { clock, CLOSEST_NS, lengthOf } from "../../../../src/panel/ui/timeSpan";
import type { PatternDiagram, PatternMove, PatternState } from "../../../../src/shared/protocol";
import { random } from "../../../support/random";
import { RUN } from "../../../support/samples";

describe("pattern histogram", () => {
  test("shares are parts of each bucket, and never zero where the pattern occurs", () => {
    expect(shares([0, 10, 5, 0, 0.0001], 50, [0, 1, 0, 1, 0])).toEqual([
      0,
      1,
      expect.closeTo(0.59),
      0.18,
      expect.closeTo(0.18),
    ]);
    expect(shares([99], 10)).toEqual([1]);
    expect(shares([], 10)).toEqual([]);
  });

  test("relativeShares are on the scale of the densest bucket", () => {
    expect(relativeShares([0, 300, 150])).toEqual([0, 1, expect.closeTo(0.59)]);
    expect(relativeShares([0, 0])).toEqual([0, 0]);
  });

  test("barsPath is one shape with equal neighbours joined", () => {
    expect(barsPath([0, 0.5, 0.5, 1, 0, 0.25])).toBe("M1 1V0.5H3V1ZM3 1V0H4V1ZM5 1V0.75H6V1Z");
    expect(barsPath([0, 0])).toBe("");
  });

  test("barsPath has the height of every bucket", () => {
    const numbers = random(3);
    for (let round = 0; round < 50; round += 1) {
      const heights = Array.from({ length: 1 + numbers.below(40) }, () => numbers.below(4) / 4);
      const drawn = heights.map(() => 0);
      for (const [, from, top, to] of barsPath(heights).matchAll(/M(\d+) 1V([\d.]+)H(\d+)V1Z/g)) {
        for (let at = Number(from); at < Number(to); at += 1) drawn[at] = 1 - Number(top);
      }
      expect(drawn).toEqual(heights);
    }
  });
});

describe("brush", () => {
  const all = { from: 0, to: 1000 };
  const span = { from: 200, to: 400 };

  test("gripAt is an end, the middle or a new span", () => {
    expect([190, 205, 300, 395, 409, 700].map((ns) => gripAt(ns, span, all, 10))).toEqual([
      "from",
      "from",
      "all",
      "to",
      "to",
      "new",
    ]);
    expect(gripAt(500, all, all, 10)).toBe("new");
    expect(gripAt(2, all, all, 10)).toBe("from");
  });

  test("dragged by its middle keeps its length and stops at the ends of the run", () => {
    expect(dragged("all", 300, 350, span, all)).toEqual({ from: 250, to: 450 });
    expect(dragged("all", 300, 5000, span, all)).toEqual({ from: 800, to: 1000 });
    expect(dragged("all", 300, -5000, span, all)).toEqual({ from: 0, to: 200 });
  });

  test("dragged by an end may pass the other end", () => {
    expect(dragged("from", 200, 100.4, span, all)).toEqual({ from: 100, to: 400 });
    expect(dragged("to", 400, 100, span, all)).toEqual({ from: 100, to: 200 });
    expect(dragged("new", 700, 600, span, all)).toEqual({ from: 600, to: 700 });
  });

  test("dragged is never shorter than the closest window nor outside of the run", () => {
    const numbers = random(9);
    for (let round = 0; round < 300; round += 1) {
      const grip = (["from", "to", "all", "new"] as const)[numbers.below(4)] ?? "new";
      const now = dragged(grip, numbers.below(1200) - 100, numbers.below(1200) - 100, span, all);
      expect(lengthOf(now)).toBeGreaterThanOrEqual(CLOSEST_NS);
      expect(now.from).toBeGreaterThanOrEqual(0);
      expect(now.to).toBeLessThanOrEqual(1000);
      expect([now.from, now.to].every(Number.isInteger)).toBe(true);
    }
    expect(isWhole(between(-5, 5000, all), all)).toBe(true);
  });

  test("timeOf accepts times with units, groups and colons", () => {
    const written = ["1.25 s", "300 µs", "12_500ns", "2", "0.001 5 s", "7 ms", ".5ms", "1:02.5", "1:00:01"];
    expect(written.map(timeOf)).toEqual([1.25e9, 300_000, 12_500, 2e9, 1_500_000, 7_000_000, 500_000, 62.5e9, 3601e9]);
    expect(["", "abc", "5 h", ".", "1:"].map(timeOf)).toEqual([undefined, undefined, undefined, undefined, undefined]);
    for (const ns of [0, 1, 59_999_999_999, 62_003_004_005, 7_323_000_000_001]) expect(timeOf(clock(ns))).toBe(ns);
  });
});

function state(label: string, what: PatternState["what"], more: Partial<PatternState> = {}): PatternState {
  return { label, what, count: 10, inside: 0, ns: 100, share: 0.1, location: null, ...more };
}

function diagram(states: PatternState[], moves: PatternMove[]): PatternDiagram {
  return { run: RUN, pattern: "a", states, hiddenStates: 0, moves, hiddenMoves: 0 };
}

const LOOP = diagram(
  [
    state("app:read", "entered", { inside: 8, share: 0.4 }),
    state("app:read", "returned", { inside: 8 }),
    state("app:retry", "entered"),
  ],
  [
    { source: 0, target: 1, count: 10, inside: 8 },
    { source: 1, target: 0, count: 9, inside: 7 },
    { source: 1, target: 2, count: 2, inside: 0 },
    { source: 2, target: 2, count: 1, inside: 0 },
  ],
);
const measure = (text: string): number => text.length * 7;

describe("pattern diagram", () => {
  test("highlights the selected pattern and counts each move inside and in total", () => {
    const graph = diagramGraph(LOOP);
    expect(graph.nodes.map((one) => [one.name, one.kind, one.onChain, one.heat])).toEqual([
      ["app.read", "entered", true, 1],
      ["app.read", "returned", true, 0.25],
      ["app.retry", "entered", false, 0.25],
    ]);
    expect(graph.edges.map((one) => [one.channel, one.onChain])).toEqual([
      ["8 / 10", true],
      ["7 / 9", true],
      ["0 / 2", false],
      ["0 / 1", false],
    ]);
    const widths = graph.edges.map((one) => one.strength ?? 0);
    expect(widths).toEqual([...widths].sort((a, b) => b - a));
    expect(widths[0]).toBe(1);
    expect(statesOf(graph, "app:read")).toEqual([
      stateId({ label: "app:read", what: "entered" }),
      stateId({ label: "app:read", what: "returned" }),
    ]);
  });

  test("layout is the same for every selected pattern", () => {
    const other = diagram(
      LOOP.states.map((one) => ({ ...one, inside: 0 })),
      LOOP.moves.map((one) => ({ ...one, inside: 0 })),
    );
    for (const flow of ["down", "right"] as const) {
      expect(layered(layoutInput(diagramGraph(other), flow, measure))).toEqual(
        layered(layoutInput(diagramGraph(LOOP), flow, measure)),
      );
    }
  });

  test("labels cover neither labels nor nodes, also at loops", () => {
    for (const flow of ["down", "right"] as const) {
      const graph = diagramGraph(LOOP);
      const layout = layered(layoutInput(graph, flow, measure));
      const labels = placeLabels(graph, layout, measure);
      expect(labels.map((one) => one.text).sort()).toEqual(["0 / 1", "0 / 2", "7 / 9", "8 / 10"]);
      labels.forEach((a, index) => {
        for (const b of labels.slice(index + 1)) expect(overlap(a, b)).toBe(false);
        for (const node of layout.nodes) {
          expect(
            Math.abs(node.x - a.at[0]) < (node.width + a.width) / 2 - 1 &&
              Math.abs(node.y - a.at[1]) < (node.height + a.height) / 2 - 1,
          ).toBe(false);
        }
      });
    }
  });

  test("with as many moves as the server allows is laid out", () => {
    const numbers = random(5);
    const states = Array.from({ length: 80 }, (_, index) => state(`app:f${index}`, "entered"));
    const moves = Array.from({ length: 240 }, (): PatternMove => ({
      source: numbers.below(80),
      target: numbers.below(80),
      count: 1 + numbers.below(1000),
      inside: 0,
    }));
    const unique = [...new Map(moves.map((one) => [`${one.source} ${one.target}`, one])).values()];
    const layout = layered(layoutInput(diagramGraph(diagram(states, unique)), "down", measure));
    expect(layout.nodes).toHaveLength(80);
    expect(layout.routes).toHaveLength(unique.length);
  });

  test("labelPlace of a route without points is the origin", () => {
    expect(labelPlace({ points: [] }, 20, "down")).toEqual([0, 0]);
  });
});
