/** Two flows as a tree of calls: folding, significance, intervals, joins and differences. */
import { describe, expect, test } from "vitest";
import { differences } from "../../../../../src/panel/views/requests/flow/model/differences";
import {
  ancestry,
  type Flow,
  flowOf,
  searchable,
  SIDES,
  subtree,
} from "../../../../../src/panel/views/requests/flow/model/flow";
import { edgeTime, heading, ownTime, pairWords } from "../../../../../src/panel/views/requests/flow/model/nodeTexts";
import { nextMode } from "../../../../../src/panel/views/requests/flow/model/mode";
import { flowStep } from "../../../../../src/panel/views/requests/flow/model/navigation";
import { foldEqual, groupRepeats } from "../../../../../src/panel/views/requests/flow/model/folding";
import { search } from "../../../../../src/panel/graph/model";
import { joinsOf } from "../../../../../src/panel/views/requests/flow/model/joins";
import {
  ALPHAS,
  explanation,
  GROWTHS,
  percent,
  significance,
  stepOf,
} from "../../../../../src/panel/views/requests/flow/model/significance";
import { interval, intervalText } from "../../../../../src/panel/views/requests/flow/model/interval";
import type { CompareEdge, CompareGraph, CompareNode } from "../../../../../src/shared/protocol";
import { call, flow, randomFlow, times } from "../../../../support/flows";

const NONE: ReadonlySet<string> = new Set();
const STRICT = { alpha: 0.05, slower: 0.02 };

function node(id: string, more: Partial<CompareNode> = {}): CompareNode {
  return {
    id,
    label: id,
    name: `app:${id}`,
    status: "both",
    channel: "",
    parent: "",
    depth: 0,
    beginBeforeNs: 0,
    beginAfterNs: 0,
    totalBeforeNs: 2e6,
    totalAfterNs: 2e6,
    ownBeforeNs: 1e6,
    ownAfterNs: 1e6,
    growthNs: 0,
    p: 0.5,
    location: null,
    ...more,
  };
}

function edge(source: string, target: string, more: Partial<CompareEdge> = {}): CompareEdge {
  return {
    source,
    target,
    status: "both",
    channel: "",
    beforeNs: 1e6,
    afterNs: 1e6,
    p: 0.5,
    ...more,
  };
}

function graph(nodes: CompareNode[], edges: CompareEdge[]): CompareGraph {
  return {
    category: "read:1",
    other: "read:1",
    title: "read",
    sentence: "",
    countBefore: 40,
    countAfter: 40,
    responseBeforeNs: 2e6,
    responseAfterNs: 3e6,
    nodes,
    edges,
    hiddenNodes: 0,
  };
}

describe("flowOf the answer", () => {
  const made = flowOf(
    graph(
      [
        node("serve"),
        node("load", { parent: "serve", beginBeforeNs: 5, channel: "queue" }),
        node("audit", {
          parent: "serve",
          status: "after",
          ownBeforeNs: null,
          totalBeforeNs: null,
          beginBeforeNs: null,
        }),
        node("disk", { parent: "audit" }),
      ],
      [
        edge("serve", "load", { afterNs: 2e6, p: 0.01 }),
        edge("serve", "audit", { status: "after", beforeNs: null }),
        edge("load", "disk", { status: "before", afterNs: null, p: null }),
        edge("audit", "disk", { status: "after", beforeNs: null, p: null }),
        edge("serve", "not sent"),
      ],
    ),
  );

  test("has times and callers by side", () => {
    const [, load, audit, disk] = made.calls;
    expect(load?.times.before).toEqual({ beginNs: 5, endNs: 2_000_005, ownNs: 1e6, edgeNs: 1e6 });
    expect([load?.times.after?.edgeNs, load?.pEdge, audit?.times.before]).toEqual([2e6, 0.01, null]);
    expect([disk?.callers, disk?.parent]).toEqual([{ before: "load", after: "audit" }, "audit"]);
    expect(ancestry(made, "disk").map((one) => one.id)).toEqual(["disk", "audit", "serve"]);
    expect(subtree(made, "serve").map((one) => one.id)).toEqual(["serve", "load", "audit", "disk"]);
  });

  test("is searched by label and channel", () => {
    expect(search(searchable(made), "QUEUE")).toEqual(["load"]);
    expect(search(searchable(made), "app:disk")).toEqual(["disk"]);
  });
});

/** Returns the sum of the self times of all calls, by side. */
function own(one: Flow): number[] {
  return SIDES.map((side) => one.calls.reduce((sum, each) => sum + (each.times[side]?.ownNs ?? 0), 0));
}

function members(one: Flow): string[] {
  return one.calls.flatMap((each) => each.members.map((member) => member.id)).sort();
}

describe("flow folding", () => {
  test("keeps every call once, the self times and the order", () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const whole = randomFlow(seed, 10 + seed * 4);
      const found = significance(whole, STRICT);
      for (const small of [
        groupRepeats(whole, NONE),
        foldEqual(whole, found, NONE),
        foldEqual(groupRepeats(whole, NONE), found, NONE),
      ]) {
        expect(members(small)).toEqual(whole.calls.map((one) => one.id).sort());
        own(small).forEach((sum, side) => {
          expect(sum).toBeCloseTo(own(whole)[side] ?? -1, 3);
        });
        const firsts = small.calls.map((one) => whole.calls.findIndex((each) => each.id === one.members[0]?.id));
        expect(firsts).toEqual([...firsts].sort((a, b) => a - b));
        for (const one of small.calls) if (one.parent) expect(small.byId.has(one.parent)).toBe(true);
      }
    }
  });

  test("folds as equal only calls on both sides, unmoved and not significantly slower", () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const whole = randomFlow(seed, 80);
      const found = significance(whole, STRICT);
      const equal = foldEqual(whole, found, NONE).calls.filter((one) => one.kind === "equal");
      for (const one of equal.flatMap((each) => each.members)) {
        expect([one.status, one.callers.before === one.callers.after, found.calls.has(one.id)]).toEqual([
          "both",
          true,
          false,
        ]);
      }
    }
  });

  test("is undone by opening every node", () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const whole = randomFlow(seed, 60);
      const found = significance(whole, STRICT);
      const opened = new Set<string>();
      let now = foldEqual(groupRepeats(whole, opened), found, opened);
      for (let nodes = now.calls.filter((one) => one.kind !== "call"); nodes.length > 0;) {
        for (const node of nodes) opened.add(node.id);
        now = foldEqual(groupRepeats(whole, opened), found, opened);
        nodes = now.calls.filter((one) => one.kind !== "call");
      }
      expect(now.calls.map((one) => [one.id, one.parent])).toEqual(whole.calls.map((one) => [one.id, one.parent]));
    }
  });

  test("groups repeated neighbours with equal calls below, with the mean of their edges", () => {
    const part = (id: string, edgeNs: number) => [
      call(id, "root", { label: "part", times: { before: times(edgeNs, 10), after: times(edgeNs, 20) } }),
      call(`${id}-disk`, id, { label: "disk" }),
    ];
    const small = groupRepeats(
      flow(call("root", ""), ...part("a", 100), ...part("b", 300), call("c", "root", { label: "part" })),
      NONE,
    );
    expect(small.calls.map((one) => [one.id, one.parent, one.members.length])).toEqual([
      ["root", "", 1],
      ["×a", "root", 2],
      ["×a-disk", "×a", 2],
      ["c", "root", 1],
    ]);
    const [, grouped = call("none", "")] = small.calls;
    expect([grouped.times.before?.edgeNs, grouped.times.before?.ownNs, grouped.times.after?.ownNs]).toEqual([
      200, 20, 40,
    ]);
    expect([heading(grouped), edgeTime(grouped, "both"), ownTime(grouped, "both")]).toEqual([
      "a ×2",
      "200 ns each",
      "in total 20 → 40 ns",
    ]); // prettier-ignore
  });

  test("joins equal branches, and equal chains that lead to a change, into one node", () => {
    const small = foldEqual(
      flow(
        call("root", ""),
        call("first", "root"),
        call("below", "first"),
        call("second", "root"),
        call("wrap", "root"),
        call("wrapped", "wrap"),
        call("aside", "wrapped"),
        call("new", "wrapped", { status: "after" }),
      ),
      significance(flow(), STRICT),
      NONE,
    );
    expect(small.calls.map((one) => [one.id, one.parent, one.name])).toEqual([
      ["root", "", "root"],
      ["=first", "root", "3 equal calls"],
      ["=wrap", "root", "3 equal calls"],
      ["new", "=wrap", "new"],
    ]);
  });
});

test("foldEqual names equal times only and does not fold untested differences", () => {
  const both = (before: number, after: number) => ({ before: times(1, before), after: times(1, after) });
  const named = (p: number | null, before: number, after: number): string[] => {
    const one = flow(call("root", ""), ...["a", "b"].map((id) => call(id, "root", { p, times: both(before, after) })));
    return foldEqual(one, significance(one, STRICT), NONE)
      .calls.slice(1)
      .map((each) => each.name);
  };
  expect(named(0.5, 1e6, 1.01e6)).toEqual(["2 equal calls"]);
  expect(named(0.5, 1e6, 3e6)).toEqual(["2 calls, none significantly slower"]);
  expect(named(null, 1e6, 1.01e6)).toEqual(["2 equal calls"]);
  expect(named(null, 1e6, 3e6)).toEqual(["a", "b"]);
  expect(named(null, 3e6, 1e6)).toEqual(["a", "b"]);
});

describe("significance", () => {
  const one = flow(
    call("root", ""),
    call("slow", "root", { p: 0.001, pEdge: 0.2, times: { before: times(1e6, 1e6), after: times(3e6, 3e6) } }),
    call("wild", "root", { p: 0.3, pEdge: 0.001, times: { before: times(1e6, 1e6), after: times(9e6, 9e6) } }),
    call("hair", "root", { p: 0.001, times: { before: times(1e6, 1e6), after: times(1e6, 1e6 + 1) } }),
    call("new", "root", { status: "after" }),
  );

  test("has calls and edges with small p and enough growth", () => {
    const found = significance(one, STRICT);
    expect([[...found.calls], [...found.edges], found.tested, found.small]).toEqual([["slow"], ["wild"], 4, 1]);
    expect(found.unsure.map((each) => each.id)).toEqual(["wild"]);
  });

  test("grows with alpha and shrinks with the required growth", () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const whole = randomFlow(seed, 60);
      const byAlpha = ALPHAS.map((alpha) => significance(whole, { alpha, slower: 0.02 }).calls.size);
      const byGrowth = GROWTHS.map((slower) => significance(whole, { alpha: 0.5, slower }).calls.size);
      expect(byAlpha).toEqual([...byAlpha].sort((a, b) => a - b));
      expect(byGrowth).toEqual([...byGrowth].sort((a, b) => b - a));
    }
  });

  test("explanation names the criterion and its limits", () => {
    const [sure, besides] = explanation(one, significance(one, STRICT), STRICT);
    expect(sure).toContain("by chance in at most 5 % of cases (p ≤ 0.05, corrected for 4 calls tested)");
    expect(sure).toContain("1 call and 1 edge are marked");
    expect(besides).toBe(
      "Significant does not mean large: 1 call grew by as much but varies so widely that the growth may be chance (largest: wild, by 8 ms); 1 call grew significantly, but by less.",
    );
    const single = flow(call("root", "", { p: null }));
    expect(explanation({ ...single, counts: { before: 1, after: 1 } }, significance(single, STRICT), STRICT)).toEqual([
      "One request is compared with one other, so no difference can be tested or marked. The times are those of the two requests.",
    ]);
    expect([percent(0.05), percent(1e-6), stepOf(ALPHAS, 0.05), stepOf(GROWTHS, 0)]).toEqual(["5 %", "0.0001 %", 7, 0]);
  });
});

describe("interval", () => {
  const at = (begin: number, end: number) => ({ beginNs: begin, endNs: end, ownNs: 1, edgeNs: end - begin });
  const one = flow(
    call("root", "", { times: { before: at(0, 100), after: at(0, 200) } }),
    call("a", "root", { times: { before: at(10, 30), after: at(10, 50) } }),
    call("b", "root", { times: { before: at(40, 60), after: at(80, 140) } }),
    call("c", "b", { times: { before: at(45, 55), after: at(90, 120) } }),
    call("new", "root", { status: "after", times: { before: null, after: at(150, 160) } }),
  );

  test("goes from the start of the first call to the end of the last, in any order of selection", () => {
    const found = interval(one, "c", "a");
    expect([found?.from.id, found?.to.id, found?.ns]).toEqual(["a", "c", { before: 45, after: 110 }]);
    expect(found?.path.map((each) => each.id)).toEqual(["a", "root", "b", "c"]);
    expect(found && intervalText(found)).toBe("45 ns → 110 ns (+65 ns, +144 %)");
  });

  test("from a call to a nested call ends with the nested call", () => {
    expect(interval(one, "root", "c")?.ns).toEqual({ before: 55, after: 120 });
    expect(interval(one, "b", "b")?.ns).toEqual({ before: 20, after: 60 });
  });

  test("names the side that lacks one of the calls", () => {
    const sided = interval(one, "a", "new");
    expect(sided && intervalText(sided)).toBe("150 ns after; before does not have both calls");
    expect(interval(one, "a", "gone")).toBeUndefined();
  });
});

describe("joinsOf", () => {
  const at = (begin: number, end: number) => ({ beginNs: begin, endNs: end, ownNs: 1, edgeNs: 1 });
  const joined = (...calls: [string, number, number][]) =>
    joinsOf(
      flow(
        call("root", "", { times: { before: at(0, 100), after: null } }),
        ...calls.map(([id, begin, end]) => call(id, "root", { times: { before: at(begin, end), after: null } })),
      ),
      "before",
    );

  test("has the waits of parallel calls", () => {
    expect(joined(["a", 10, 40], ["b", 12, 30], ["c", 14, 60])).toEqual([
      {
        parent: "root",
        side: "before",
        members: [
          { id: "a", waitNs: 20 },
          { id: "b", waitNs: 30 },
          { id: "c", waitNs: 0 },
        ],
      },
    ]);
  });

  test("has no join of sequential calls or of calls that outlive their caller", () => {
    expect(joined(["a", 10, 40], ["b", 40, 70])).toEqual([]);
    expect(joined(["a", 10, 40], ["b", 12, 300])).toEqual([]);
  });

  test("has one join per group of overlapping calls", () => {
    const found = joined(["a", 0, 20], ["b", 5, 25], ["c", 50, 70], ["d", 55, 80], ["e", 85, 90]);
    expect(found.map((one) => one.members.map((member) => member.id))).toEqual([["a", "b"], ["c", "d"]]); // prettier-ignore
  });
});

test("differences are sentences, one per branch of a side, the largest first", () => {
  const one = flow(
    call("root", ""),
    call("slow", "root", { p: 0.0002, times: { before: times(1e6, 1e6), after: times(3e6, 3.5e6) } }),
    call("new", "root", { status: "after", times: { before: null, after: times(1e6, 2000) } }),
    call("newer", "new", { status: "after", times: { before: null, after: times(1e6, 3000) } }),
    call("old", "root", { status: "before" }),
    call("moved", "new", { callers: { before: "old", after: "new" } }),
  );
  expect(differences(one, significance(one, STRICT)).map((each) => [each.id, each.kind, each.sentence])).toEqual([
    ["slow", "slower", "slow: self time 1 → 3.5 ms (+2.5 ms), p < 0.001"],
    ["new", "after", "new and 1 call below it only after, 5 µs in total"],
    ["old", "before", "old only before, 1 µs in total"],
    ["moved", "moved", "moved is called by new instead of old"],
  ]);
});

test("flowStep leads to callers, callees and siblings", () => {
  const one = flow(call("root", ""), call("a", "root"), call("aa", "a"), call("b", "root"), call("bb", "b"));
  const to = (from: string, key: "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight", hidden = "") =>
    flowStep(one, "down", from, key, (id) => id !== hidden);
  expect([to("root", "ArrowDown"), to("aa", "ArrowUp"), to("a", "ArrowRight"), to("b", "ArrowLeft")]).toEqual(["a", "a", "b", "a"]); // prettier-ignore
  expect([to("aa", "ArrowRight"), to("root", "ArrowDown", "a"), to("aa", "ArrowUp", "a")]).toEqual([
    "bb",
    "aa",
    "root",
  ]);
  expect(flowStep(one, "right", "a", "ArrowDown", () => true)).toBe("b");
});

test("pairWords shows the times of both sides briefly", () => {
  expect(pairWords(1.2e6, 4.5e6)).toBe("1.2 → 4.5 ms");
  expect(pairWords(840, 1.2e6)).toBe("840 ns → 1.2 ms");
  expect(pairWords(1e6, 1e6)).toBe("1 ms");
  expect(pairWords(61e9, 62e9)).toBe("1 min 01 s → 1 min 02 s");
});

test("nextMode cycles through the modes", () => {
  expect(["diff", "sides", "animation"].map((mode) => nextMode(mode as "diff"))).toEqual([
    "sides",
    "animation",
    "diff",
  ]);
});
