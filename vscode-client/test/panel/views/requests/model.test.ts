/** Compared requests: the rows with words and bars, and the runs of a comparison. */
import { describe, expect, test } from "vitest";
import { categoryLines, filterCategories, landmark, slowerCalls } from "../../../../src/panel/views/requests/model";
import { probability } from "../../../../src/panel/ui/text/probability";
import { completePair } from "../../../../src/panel/comparison/runPair";
import type { CompareCall, CompareRow } from "../../../../src/shared/protocol";
import { RUN } from "../../../support/samples";

function row(more: Partial<CompareRow> = {}): CompareRow {
  return {
    category: "read:1",
    name: "read",
    kind: "",
    flow: "app:serve>app:load app:load>app:disk",
    countBefore: 40,
    countAfter: 40,
    expected: 40,
    medianBeforeNs: 1e6,
    medianAfterNs: 1e6,
    meanBeforeNs: 1e6,
    meanAfterNs: 1e6,
    shiftNs: null,
    lowNs: null,
    highNs: null,
    effect: null,
    p: null,
    costNs: 0,
    sentence: "",
    cause: "",
    calls: [],
    hiddenCalls: 0,
    precursors: [],
    hiddenPrecursors: 0,
    differences: [],
    hiddenDifferences: 0,
    ...more,
  };
}

function call(label: string, ownBeforeNs: number, ownAfterNs: number, channel = ""): CompareCall {
  return {
    label,
    caller: "app:serve",
    channel,
    ownBeforeNs,
    ownAfterNs,
    edgeBeforeNs: 0,
    edgeAfterNs: 0,
    p: 0.01,
    sentence: "",
    isVictim: false,
    location: null,
  };
}

describe("category rows", () => {
  const slower = row({
    kind: "response-time",
    medianAfterNs: 4e6,
    shiftNs: 3e6,
    p: 1e-9,
    costNs: 1.2e8,
    calls: [call("app:disk", 1e5, 3e6)],
  });
  const often = row({ kind: "structural", name: "write", countBefore: 7, countAfter: 26, expected: 7, p: 0.0204 });

  test("share one scale and name the change", () => {
    const [first, second, third] = categoryLines([slower, often, row()]);
    expect([first?.word, first?.before, first?.after]).toEqual(["slower", 0.25, 1]);
    expect([first?.counts, first?.change, first?.factor, first?.sure]).toEqual(["40", "+3 ms", "×4.0", "p < 0.001"]);
    expect([second?.word, second?.counts, second?.change, second?.factor, second?.sure]).toEqual([
      "more often",
      "7 → 26",
      "+19",
      "requests",
      "p = 0.02",
    ]);
    expect([third?.word, third?.change, third?.factor, third?.sure, third?.cost]).toEqual(["", "", "", "", ""]);
  });

  test("of a negative cost are named faster", () => {
    const [line] = categoryLines([row({ kind: "response-time", costNs: -1e8, shiftNs: -3e6, medianBeforeNs: 4e6 })]);
    expect([line?.word, line?.change, line?.factor]).toEqual(["faster", "−3 ms", "−75 %"]);
  });

  test("of a flow on one side are named new", () => {
    const [line] = categoryLines([row({ kind: "structural", countBefore: 0, expected: 0, medianBeforeNs: null })]);
    expect([line?.word, line?.medianBefore, line?.before, line?.counts]).toEqual(["new", "–", 0, "0 → 40"]);
  });

  test("landmark is the slower call, or the start of the flow", () => {
    expect(landmark(slower)).toBe("app.disk");
    expect(landmark(often)).toBe("app.load … 3 calls");
    expect(landmark(row({ flow: "app:serve>app:load app:load>app:disk app:se…" }))).toBe(
      "app.load … more than 2 calls",
    );
    expect(landmark(row({ flow: "" }))).toBe("");
  });

  test("filter matches every word in name, flow and slower calls", () => {
    expect(filterCategories([slower, often], "read disk")).toEqual([slower]);
    expect(filterCategories([slower, often], "DISK")).toHaveLength(2); // the flow of both has it
    expect(filterCategories([slower, often], "nothing")).toEqual([]);
    expect(filterCategories([slower, often], "")).toHaveLength(2);
  });
});

test("slowerCalls joins calls of one function, the largest growth first", () => {
  const found = slowerCalls([
    call("a:f", 100, 200),
    call("a:g", 100, 350),
    call("a:f", 100, 300),
    call("a:f", 1, 2, "queue"),
  ]);
  expect(found.map((one) => [one.label, one.channel, one.calls, one.ownBeforeNs, one.ownAfterNs])).toEqual([
    ["a:f", "", 2, 200, 500],
    ["a:g", "", 1, 100, 350],
    ["a:f", "queue", 1, 1, 2],
  ]);
});

test("probability shows p with two digits", () => {
  expect([null, 0, 0.0009, 0.001, 0.04567].map(probability)).toEqual([
    "",
    "p < 0.001",
    "p < 0.001",
    "p = 0.001",
    "p = 0.046",
  ]);
});

describe("completePair", () => {
  const runs = ["a", "b", "c"].map((id, index) => ({ ...RUN, id, started: index }));

  test("fills missing runs with the newest, in the order of recording", () => {
    expect(completePair(runs, "", { before: "", after: "" })).toEqual({ before: "b", after: "c" });
    expect(completePair(runs, "", { before: "c", after: "" })).toEqual({ before: "c", after: "b" });
    expect(completePair(runs, "", { before: "", after: "a" })).toEqual({ before: "c", after: "a" });
    expect(completePair(runs.slice(0, 1), "", { before: "", after: "" })).toEqual({ before: "", after: "a" });
  });

  test("uses the baseline as the earlier run if it differs", () => {
    expect(completePair(runs, "a", { before: "", after: "" })).toEqual({ before: "a", after: "c" });
    expect(completePair(runs, "c", { before: "", after: "" })).toEqual({ before: "c", after: "b" });
    expect(completePair(runs, "c", { before: "", after: "c" })).toEqual({ before: "b", after: "c" });
  });

  test("resolves a run name to the newest run of that name", () => {
    const named = runs.map((run) => ({ ...run, name: run.id === "a" ? "old" : "shop" }));
    expect(completePair(named, "", { before: "", after: "shop" })).toEqual({ before: "b", after: "shop" });
    expect(completePair(named, "c", { before: "", after: "shop" })).toEqual({ before: "b", after: "shop" });
    expect(completePair(named.slice(0, 1), "", { before: "", after: "old" })).toEqual({ before: "", after: "old" });
  });
});

test("slowerCalls puts victims of a queue after what fills it", () => {
  const victim = { ...call("a:run", 100, 9000, "queue"), isVictim: true };
  expect(slowerCalls([victim, call("a:lookup", 100, 350)]).map((one) => one.label)).toEqual(["a:lookup", "a:run"]);
});
