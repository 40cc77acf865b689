/** Patterns as rows: shares, times, successions and calls. */
import { describe, expect, test } from "vitest";
import {
  filterPatterns,
  neighbours,
  outlineLine,
  patternRows,
  type PatternView,
  inWindow,
} from "../../../../src/panel/views/patterns/model";
import { percent } from "../../../../src/panel/ui/text/format";
import type { PatternLine, PatternRow, PatternsResult } from "../../../../src/shared/protocol";
import { RUN } from "../../../support/samples";

function line(label: string, more: Partial<PatternLine> = {}): PatternLine {
  return {
    depth: 0,
    label,
    repeats: 1,
    calls: 1,
    resumed: false,
    end: "returned",
    meanNs: 1e6,
    event: 0,
    location: null,
    ...more,
  };
}

function row(id: string, more: Partial<PatternRow> = {}): PatternRow {
  return {
    id,
    title: id,
    calls: 3,
    width: 1,
    count: 10,
    totalNs: 1e8,
    selfNs: 2.5e7,
    meanNs: 1e7,
    share: 0.1,
    strands: 1,
    firstNs: 0,
    lastNs: 0,
    firstEvent: 0,
    raised: 0,
    outline: [line(`app:${id}`)],
    hiddenLines: false,
    stretches: [],
    location: null,
    ...more,
  };
}

function result(patterns: PatternRow[], more: Partial<PatternsResult> = {}): PatternsResult {
  return {
    run: RUN,
    level: "function",
    levels: ["function"],
    sentence: "",
    explanation: "",
    strands: [],
    hiddenStrands: 0,
    events: 100,
    spanNs: 1e9,
    patterns,
    hiddenPatterns: 0,
    successions: [],
    pattern: "",
    fromNs: 0,
    toNs: 1000,
    message: "",
    ...more,
  };
}

function rowsOf(of: PatternsResult): PatternView[] {
  return patternRows(of, of.patterns);
}

describe("pattern rows", () => {
  test("inWindow are the patterns in the window with their times there", () => {
    const known = [row("a", { share: 0.4 }), row("b"), row("c", { totalNs: 1e8, selfNs: 5e7 })];
    const inside = [
      { id: "a", count: 1, ns: 1e7, share: 0.1 },
      { id: "c", count: 4, ns: 5e7, share: 0.5 },
    ];
    expect(inWindow(known, inside).map((one) => [one.id, one.count, one.totalNs, one.selfNs, one.share])).toEqual([
      ["c", 4, 5e7, 2.5e7, 0.5],
      ["a", 1, 1e7, 2.5e6, 0.1],
    ]);
  });

  test("are on the scale of the largest share, with the share of work", () => {
    const rows = rowsOf(result([row("a", { share: 0.4 }), row("b"), row("c", { share: 0, totalNs: 0, selfNs: 0 })]));
    expect(rows.map((one) => [one.percent, one.share, one.work])).toEqual([
      ["40 %", 1, 0.25],
      ["10 %", 0.25, 0.0625],
      ["0 %", 0, 0],
    ]);
  });

  test("have size, count and mean", () => {
    const [one, other] = rowsOf(result([row("a"), row("b", { width: 2, count: 1234, strands: 12 })]));
    expect([one?.size, one?.count, one?.mean]).toEqual(["3 calls", "10", "10.0 ms"]);
    expect([other?.size, other?.count]).toEqual(["3 calls, 2 side by side", "1,234 in 12"]);
  });

  test("spans are cut to the window and have a minimum length", () => {
    const stretches = [
      { fromNs: -100, toNs: 250, count: 1, strand: 0 },
      { fromNs: 500, toNs: 750, count: 3, strand: 0 },
      { fromNs: 1000, toNs: 1000, count: 1, strand: 1 },
    ];
    const [one] = rowsOf(result([row("a", { stretches })]));
    expect(one?.spans.map((span) => [span.start, span.length])).toEqual([
      [0, 0.25],
      [0.5, 0.25],
      [0.997, 0.003],
    ]);
  });

  test("filter matches every word in title and calls", () => {
    const rows = [row("first"), row("second", { outline: [line("app:second"), line("db:load")] })];
    expect(filterPatterns(rows, "DB second")).toEqual(rows.slice(1));
    expect(filterPatterns(rows, "")).toEqual(rows);
  });
});

test("neighbours of a pattern are sorted by count", () => {
  const found = result([row("a"), row("b"), row("c")], {
    successions: [
      { before: "a", after: "b", count: 1 },
      { before: "a", after: "c", count: 3 },
      { before: "b", after: "a", count: 5 },
      { before: "not shown", after: "a", count: 5 },
    ],
  });
  expect(neighbours(found, "a", "after").map((one) => [one.id, one.count, one.share])).toEqual([
    ["c", 3, 0.75],
    ["b", 1, 0.25],
  ]);
  // Patterns without a row still count in the shares.
  expect(neighbours(found, "a", "before").map((one) => [one.id, one.share])).toEqual([["b", 0.5]]);
  expect(neighbours(found, "c", "after")).toEqual([]);
});

test("outlineLine has repeats, size and how the call ends", () => {
  expect(outlineLine(line("shop.stock:Stock.lookup", { repeats: 3 }))).toEqual({
    name: "3 × Stock.lookup",
    note: "1 ms each",
  });
  expect(outlineLine(line("a:f", { resumed: true, end: "raised", calls: 4 })).note).toBe(
    "continues · raises · 4 calls · 1 ms each",
  );
});

test("percent equals that of the terminal", () => {
  expect([0, 0.0004, 0.0123, 0.05, 0.0999, 0.5].map(percent)).toEqual([
    "0 %",
    "<0.1 %",
    "1.2 %",
    "5 %",
    "10 %",
    "50 %",
  ]);
});
