import { describe, expect, it } from "vitest";
import {
  filterGroups,
  filterSegments,
  pathChoices,
  pathGroups,
  pathLanes,
  waitsOf,
  whatIfLabels,
} from "../../../src/panel/segments/path";
import type { CriticalPathResult, PathSegment } from "../../../src/shared/protocol";
import { random } from "../../support/random";
import { RUN, segment } from "../../support/samples";

function result(segments: PathSegment[], more: Partial<CriticalPathResult> = {}): CriticalPathResult {
  return {
    run: RUN,
    title: "",
    level: "function",
    levels: [],
    segments,
    hiddenSegments: 0,
    totalNs: segments.reduce((sum, one) => sum + one.selfNs + one.waitNs, 0),
    message: "",
    gaps: [],
    hiddenGaps: 0,
    processes: [],
    machines: [],
    beside: [],
    hiddenBeside: 0,
    branches: [],
    hiddenBranches: 0,
    endEvent: 9,
    ...more,
  };
}

/** Makes sequential segments on random strands. */
function made(seed: number): PathSegment[] {
  const numbers = random(seed);
  let now = numbers.below(1000);
  return Array.from({ length: 1 + numbers.below(60) }, () => {
    const [waitNs, selfNs] = [numbers.below(3) * 10, numbers.below(100)];
    const startNs = now;
    now += waitNs + selfNs;
    const label = `app:f${numbers.below(8)}`;
    return {
      ...segment(label, startNs, selfNs, waitNs),
      strand: `t${numbers.below(20)}`,
      startNs,
      endNs: now,
      waitFor: waitNs > 0 ? (["lock", "queue"][numbers.below(2)] ?? "") : "",
    };
  });
}

describe("pathLanes", () => {
  it("has each segment once at its time, waiting before work, on at most the given lanes", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const segments = made(seed);
      const { lanes, handOvers } = pathLanes(result(segments), 5);
      expect(lanes.length).toBeLessThanOrEqual(5);
      expect(new Set(lanes.map((lane) => lane.name)).size).toBe(lanes.length);
      const pieces = lanes.flatMap((lane) => lane.pieces);
      expect(new Set(pieces.map((piece) => piece.segment))).toEqual(new Set(segments));
      expect(pieces.length).toBe(segments.length);
      const begin = segments[0]?.startNs ?? 0;
      const span = Math.max(1, (segments.at(-1)?.endNs ?? 0) - begin);
      for (const { segment: one, from, work, to } of pieces) {
        expect(from).toBeCloseTo((one.startNs - begin) / span);
        expect(to).toBeCloseTo((one.endNs - begin) / span);
        expect(work - from).toBeCloseTo(one.waitNs / span);
      }
      const laneOf = new Map(lanes.flatMap((lane, at) => lane.pieces.map((piece) => [piece.segment, at] as const)));
      const steps = segments.slice(1).filter((one, at) => laneOf.get(one) !== laneOf.get(segments[at] ?? one));
      expect(handOvers.map((one) => one.to)).toEqual(steps.map((one) => laneOf.get(one)));
    }
  });

  it("keeps the threads with most of the path and joins the others in the last lane", () => {
    const long = { ...segment("app:f", 0, 900), strand: "main", startNs: 0, endNs: 900 };
    const short = [1, 2, 3].map((at) => ({
      ...segment("app:g", 899 + at, 1), strand: `t${at}`, startNs: 899 + at, endNs: 900 + at,
    })); // prettier-ignore
    const { lanes } = pathLanes(result([...short, long]), 2);
    expect(lanes.map((lane) => [lane.name.endsWith("main"), lane.pieces.length])).toEqual([
      [true, 1],
      [false, 3],
    ]);
    expect(lanes.at(-1)?.name).toBe("others");
  });
});

describe("pathGroups", () => {
  it("have the sums of their segments, the longest label first", () => {
    for (let seed = 1; seed <= 60; seed++) {
      const segments = made(seed);
      const groups = pathGroups(result(segments), false);
      const sum = (
        value: (one: { selfNs: number; waitNs: number }) => number,
        of: typeof groups | PathSegment[],
      ): number => of.reduce((all, one) => all + value(one), 0);
      expect(sum((one) => one.selfNs, groups)).toBe(sum((one) => one.selfNs, segments));
      expect(sum((one) => one.waitNs, groups)).toBe(sum((one) => one.waitNs, segments));
      expect(groups.reduce((all, one) => all + one.count, 0)).toBe(segments.length);
      const lengths = groups.map((one) => one.selfNs + one.waitNs);
      expect(lengths).toEqual([...lengths].sort((a, b) => b - a));
      const waited = groups.flatMap((one) => one.waits).reduce((all, one) => all + one.ns, 0);
      expect(waitsOf(result(segments)).reduce((all, one) => all + one.ns, 0)).toBe(waited);
    }
  });

  it("separate labels on the path from parallel labels; whatIfLabels have those with work", () => {
    const path = result([segment("app:f", 0, 50, 10), segment("app:g", 60, 80)], {
      beside: [
        { label: "app:f", workNs: 70, slackNs: 0, location: null },
        { label: "app:g", workNs: 80, slackNs: 0, location: null },
        { label: "app:h", workNs: 500, slackNs: 12, location: null },
        { label: "app:i", workNs: 3, slackNs: null, location: null },
      ],
    });
    expect(pathGroups(path, true).map((one) => [one.label, one.slackNs])).toEqual([
      ["app:h", 12],
      ["app:i", null],
    ]);
    expect(pathGroups(path, false).map((one) => [one.label, one.workNs])).toEqual([
      ["app:g", 80],
      ["app:f", 70],
    ]);
    expect(whatIfLabels(path)).toEqual(["app:g", "app:f", "app:h", "app:i"]);
  });
});

describe("path search", () => {
  const segments = [
    { ...segment("app:Store.write", 0, 5, 2), process: "server c1", strand: "Task-1", waitFor: "a lock" },
    { ...segment("app:Store.read", 7, 5, 0), process: "client", strand: "MainThread", waitFor: "" },
  ];
  const found = (text: string): string[] => filterSegments(segments, text).map((one) => one.label);

  it("finds segments by label, process, strand and wait, ignoring case", () => {
    expect(found("store.WRITE")).toEqual(["app:Store.write"]);
    expect(found("mainthread")).toEqual(["app:Store.read"]);
    expect(found("c1 lock")).toEqual(["app:Store.write"]);
    expect(found("c1 mainthread")).toEqual([]);
    expect(found(" ")).toHaveLength(2);
  });

  it("finds labels by the waits of their segments", () => {
    const groups = pathGroups(result(segments), false);
    expect(filterGroups(groups, "lock").map((one) => one.label)).toEqual(["app:Store.write"]);
    expect(filterGroups(groups, "store")).toHaveLength(2);
  });
});

describe("pathChoices", () => {
  const path = result([
    segment("app:f", 0, 5),
    segment("app:g", 5, 5),
    segment("app:f", 10, 5),
    segment("lib:h", 15, 5),
  ]);

  it.each(["order", "label"] as const)("have each label once in the list by %s", (list) => {
    const [all, some] = [pathChoices(path, list, ""), pathChoices(path, list, "app")];
    expect([all.length, some.length]).toEqual([3, 2]);
    expect(new Set(all).size).toBe(3);
  });
});
