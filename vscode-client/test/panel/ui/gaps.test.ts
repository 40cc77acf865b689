/** How missing events and the clocks of several machines are shown. */
import { describe, expect, test } from "vitest";
import { chainLines } from "../../../src/panel/views/slice/chainLines";
import { coalesce } from "../../../src/panel/graph/coalesce";
import { gapName, gapSpans } from "../../../src/panel/ui/gaps";
import { fromSlice } from "../../../src/panel/graph/model";
import { withMachines } from "../../../src/panel/ui/text/processNames";
import { segmentRows, withGaps } from "../../../src/panel/segments/rows";
import { random } from "../../support/random";
import { edge, gap, node, segment, slice, step } from "../../support/samples";

describe("gapSpans", () => {
  test("are shares of the whole time", () => {
    expect(gapSpans([gap(20, 40)], 0, 100, 0.01)).toEqual([{ start: 0.2, length: 0.2 }]);
  });

  test("are cut at the ends of the whole and left out beyond", () => {
    expect(gapSpans([gap(-50, 25), gap(75, 500), gap(101, 200)], 0, 100, 0.01)).toEqual([
      { start: 0, length: 0.25 },
      { start: 0.75, length: 0.25 },
    ]);
  });

  test("have a minimum length, also at the end", () => {
    expect(gapSpans([gap(100, 100)], 0, 100, 0.05)).toEqual([{ start: 0.95, length: 0.05 }]);
  });

  test("of a single moment cover all of it", () => {
    expect(gapSpans([gap(5, 9)], 5, 5, 0.1)).toEqual([{ start: 0, length: 1 }]);
    expect(gapSpans([gap(6, 9)], 5, 5, 0.1)).toEqual([]);
  });

  test("never overlap and cover every gap", () => {
    const chance = random(7);
    for (let round = 0; round < 200; round += 1) {
      const gaps = Array.from({ length: chance.below(8) }, () => {
        const from = chance.below(140) - 20;
        return gap(from, from + chance.below(30));
      });
      const spans = gapSpans(gaps, 0, 100, 0.02);
      spans.forEach((span, place) => {
        expect(span.start).toBeGreaterThanOrEqual(0);
        expect(span.start + span.length).toBeLessThanOrEqual(1 + 1e-9);
        const before = spans[place - 1];
        if (before) expect(span.start).toBeGreaterThan(before.start + before.length);
      });
      // Every moment of a gap is in a span.
      for (const one of gaps) {
        const middle = (Math.max(0, one.fromNs) + Math.min(100, one.toNs)) / 200;
        if (one.fromNs <= 100 && one.toNs >= 0) {
          expect(spans.some((span) => span.start <= middle + 1e-9 && middle <= span.start + span.length + 1e-9)).toBe(
            true,
          );
        }
      }
    }
  });
});

describe("gapName", () => {
  test("counts calls of a function or events of a thread, if the number is known", () => {
    expect(gapName(gap(0, 1))).toBe("41 calls of store.look_up");
    expect(gapName(gap(0, 1, { lost: 1, function: "" }))).toBe("1 event of main");
    expect(gapName(gap(0, 1, { lost: null }))).toBe("calls of store.look_up");
  });
});

describe("graph with gaps", () => {
  const result = {
    ...slice(
      [node("a", { gaps: [0], machine: "south", firstNs: 0, lastNs: 100 }), node("b", { machine: "north" })],
      [
        edge("a", "b", { kind: "use", clock: "clock of south corrected", uncertain: true }),
        edge("a", "b", { kind: "next", gaps: [0] }),
      ],
      [step("b", { process: "c1" }), step("a", { process: "c2" })],
    ),
    gaps: [gap(50, 100)],
    processes: [
      { name: "c1", machine: "north" },
      { name: "c2", machine: "south" },
    ],
  };

  test("has gaps in adjacent nodes and order edges", () => {
    const graph = fromSlice(result);
    expect(graph.byId.get("a")?.gapSpans).toEqual([{ start: 0.5, length: 0.5 }]);
    expect(graph.byId.get("b")?.gaps).toEqual([]);
    expect(graph.edges.map((one) => one.gaps.length)).toEqual([0, 1]);
    expect(graph.byId.get("a")?.facts).toContainEqual({ name: "Machine", value: "south" });
  });

  test("names machines after processes only if there are several", () => {
    expect([...fromSlice(result).processes.values()]).toEqual(["c1 @ north", "c2 @ south"]);
    const one = result.processes.map((process) => ({ ...process, machine: "" }));
    expect([...withMachines(new Map([["c1", "c1"]]), one).values()]).toEqual(["c1"]);
  });

  test("keeps gaps and clocks of coalesced nodes", () => {
    const many = Array.from({ length: 40 }, (_, index) =>
      node(`m${index % 2}:f${index}`, { gaps: index === 7 ? [0] : [] }),
    );
    const links = many
      .slice(1)
      .map((one, index) => edge(many[index]?.id ?? "", one.id, { clock: index === 3 ? "a clock" : "" }));
    const small = coalesce(fromSlice({ ...slice(many, links), gaps: [gap(0, 9)] }), 4);
    expect(small.nodes.flatMap((one) => one.gaps)).toHaveLength(1);
    expect(small.nodes.filter((one) => one.gapSpans.length > 0)).toHaveLength(1);
    expect(small.edges.filter((one) => one.clock === "a clock")).toHaveLength(1);
  });
});

describe("chain lines with gaps", () => {
  test("name missing events and clock corrections between steps", () => {
    const [first, second] = chainLines(
      [
        step("a", { gaps: [gap(1, 2)], hiddenGaps: 3 }),
        step("b", { clock: "clock of south corrected", uncertain: true }),
      ],
      new Map(),
    );
    expect(first?.missing).toEqual(["41 calls of store.look_up in main are missing: too many", "3 more gaps"]);
    expect(first?.clock).toBe("clock of south corrected");
    expect(second?.missing).toEqual([]);
    expect([first?.time.startsWith("≈"), second?.time.startsWith("≈")]).toEqual([false, true]);
  });
});

describe("critical path rows with gaps", () => {
  const inside = { ...segment("work", 100, 50), gaps: [1] };
  const rows = segmentRows([segment("ask", 0, 100), inside, { ...segment("more", 150, 50), gaps: [1] }], 10);
  const order = (gaps: ReturnType<typeof gap>[]): string[] =>
    withGaps(rows, gaps).map((line) => line.row?.segments[0]?.label ?? line.gap?.why ?? "");

  test("have a gap after its first segment, or at its time", () => {
    const elsewhere = gap(20, 30, { why: "elsewhere" });
    expect(order([elsewhere, gap(120, 170, { why: "in work" })])).toEqual([
      "ask",
      "elsewhere",
      "work",
      "in work",
      "more",
    ]);
    expect(order([gap(-5, 3, { why: "before" })])).toEqual(["before", "ask", "work", "more"]);
  });

  test("without gaps are unchanged", () => {
    expect(order([])).toEqual(["ask", "work", "more"]);
  });
});
