/** Reports: a request finds its own stored answer in any equivalent form, and no other answer. */
import { describe, expect, test } from "vitest";
import { answersOf, type ReportData } from "../../../src/panel/report/answers";
import type { ReportWalk } from "../../../src/panel/views/walk/report";
import type { RunRef, WalkCard, WalkEnd, WalkResult, WalkWay } from "../../../src/shared/protocol";

const run = (id: string, name: string): RunRef => ({
  id,
  name,
  started: 0,
  finished: true,
  exitCode: 0,
  command: "",
  problems: [],
  commit: "",
});
const lines = ["ten", "eleven", "twelve", "thirteen"];
const DATA: ReportData = {
  run: run("2-after", "after"),
  created: 0,
  runs: {
    workspace: "/w",
    runs: [run("2-after", "after"), run("1-after", "after"), run("0-before", "before")],
    selected: "2-after",
    baseline: "",
    baselineName: "",
    elsewhere: [],
  },
  entries: [],
  answers: [
    { view: "", method: "clew/slice", params: { target: { event: 7 }, run: "2-after" }, result: "slice" },
    { view: "", method: "clew/slice", params: { target: {}, run: "2-after" }, result: "newest" },
    { view: "", method: "clew/patterns", params: { run: "2-after" }, result: "patterns" },
    { view: "", method: "clew/timeline", params: { run: "2-after" }, result: "timeline" },
    { view: "", method: "clew/wizard", params: { analysis: "path", answers: [], step: 0 }, result: "which run?" },
    {
      view: "",
      method: "clew/whatIf",
      params: { target: { event: 7 }, run: "2-after", label: "f", percent: 40 },
      result: "40",
    },
    { view: "", method: "clew/aggregate", params: { run: "2-after" }, result: "boxes" },
    { view: "", method: "clew/diff", params: { before: "0-before", after: "2-after" }, result: "diff" },
    { view: "", method: "clew/localize", params: { suspect: ["2-after"], reference: [] }, result: "alone" },
    { view: "", method: "clew/localize", params: { suspect: ["2-after"], reference: ["0-before"] }, result: "both" },
  ],
  sources: [{ path: "/w/a.py", firstLine: 10, lines, message: "" }],
  timeline: null,
  entities: null,
  walk: null,
  limit: 20_000_000,
  leftOut: [],
  layout: "",
};
const answer = answersOf(DATA);

describe("report answers", () => {
  test("are found for equivalent parameters", () => {
    expect(answer("clew/slice", { target: { event: 7 }, maxNodes: 300, direction: "backward" })).toBe("slice");
    expect(answer("clew/slice", { run: "after", level: "function", target: { event: 7, text: null } })).toBe("slice");
    expect(answer("clew/slice", { target: {}, run: "" })).toBe("newest");
    expect(answer("clew/patterns", {})).toBe("patterns");
    expect(answer("clew/timeline", { maxStrands: 400 })).toBe("timeline");
    expect(answer("clew/wizard", { analysis: "path", answers: [], step: 0 })).toBe("which run?");
    expect(answer("clew/aggregate", { target: {}, opened: [], strands: "thread" })).toBe("boxes");
    expect(answer("clew/whatIf", { target: { event: 7 }, label: "f", percent: 33, level: "function" })).toBe("40");
    expect(answer("clew/diff", { after: "after", before: "before", maxRows: 9 })).toBe("diff");
    expect(answer("clew/localize", { reference: [], suspect: ["after"] })).toBe("alone");
    expect(answer("clew/localize", { reference: ["before"], suspect: ["after"] })).toBe("both");
  });

  test.each([
    { target: { event: 8 } },
    { target: { event: 7 }, direction: "forward" },
    { target: { event: 7 }, level: "module" },
    { target: { event: 7 }, run: "1-after" },
    { target: { text: "7" } },
  ])("throw for a request that is not stored: %j", (params) => {
    expect(() => answer("clew/slice", params)).toThrow("not in the report");
  });

  test("have the source around stored places and a message elsewhere", () => {
    const at = (path: string, line: number, context = 1): object =>
      answer("clew/source", { location: { path, line }, context }) as object;
    expect(at("/w/a.py", 12)).toMatchObject({ firstLine: 11, lines: ["eleven", "twelve", "thirteen"], message: "" });
    expect(at("/w/a.py", 10)).toMatchObject({ firstLine: 10, lines: ["ten", "eleven"] });
    expect(at("/w/a.py", 14)).toMatchObject({
      lines: [],
      message: "The report does not contain this part of the source.",
    });
    expect(at("/w/b.py", 12)).toMatchObject({ lines: [] });
  });
});

describe("report walks", () => {
  const card = (event: number): WalkCard => ({
    event,
    title: `event ${event}`,
    kind: "call",
    timeNs: event,
    durationNs: null,
    process: "app",
    strand: "main",
    function: "",
    text: "",
    facts: [],
    location: null,
    machine: "",
  });
  const end = (event: number): WalkEnd => ({
    ...card(event),
    edge: "use",
    channel: "",
    sentence: `to ${event}`,
    onChain: false,
  });
  const way = (step: WalkWay["step"], ...events: number[]): WalkWay => ({
    step,
    count: events.length,
    ends: events.map(end),
    stop: events.length > 0 ? "" : `no ${step}`,
  });
  const walk: ReportWalk = {
    places: [
      { card: card(1), ways: [way("cause"), way("effect", 2, 3)] },
      { card: card(2), ways: [way("cause", 1), way("effect", 9)] },
      { card: card(3), ways: [way("cause", 1), way("effect")] },
    ],
    crossings: [{ event: 1, step: "effect", choice: 1, clock: "by messages", uncertain: true, gaps: [] }],
  };
  const ask = answersOf({ ...DATA, walk });
  const step = (event: number, name: WalkWay["step"], choice = 0): WalkResult =>
    ask("clew/walk", { target: { event }, run: "2-after", step: name, choice }) as WalkResult;

  test("step from event to event with the answers of the server", () => {
    expect(ask("clew/walk", { target: { event: 1 }, run: "" })).toMatchObject({
      ...walk.places[0],
      moved: true,
      sentence: "",
    });
    expect(step(1, "effect")).toMatchObject({ ...walk.places[1], moved: true, sentence: "to 2", clock: "", choice: 0 });
    expect(step(1, "effect", 1)).toMatchObject({
      ...walk.places[2],
      sentence: "to 3",
      clock: "by messages",
      uncertain: true,
    });
    expect(step(1, "effect", 7)).toMatchObject({ sentence: "to 2", choice: 0 });
  });

  test("stay at the event if the direction has no end, with the reason", () => {
    expect(step(1, "cause")).toMatchObject({ ...walk.places[0], moved: false, sentence: "no cause", ends: [] });
  });

  test("throw for events and runs outside of the report", () => {
    expect(() => step(2, "effect")).toThrow("not in the report");
    expect(() => step(9, "cause")).toThrow("not in the report");
    expect(() => ask("clew/walk", { target: { event: 1 }, run: "0-before" })).toThrow("not in the report");
  });
});
