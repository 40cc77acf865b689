/** The models that the panel makes of the server's answers. */
import { describe, expect, test } from "vitest";
import { layered } from "../../../src/panel/graph/layout/layered";
import { chainLines } from "../../../src/panel/views/slice/chainLines";
import { coalesce } from "../../../src/panel/graph/coalesce";
import { diffLines, filterRows } from "../../../src/panel/views/functions/model";
import {
  arrows,
  change,
  count,
  duration,
  elide,
  libraryPlace,
  offset,
  place,
  shortLabel,
  withCode,
} from "../../../src/panel/ui/text/format";
import { fromSlice, nodesOf, search } from "../../../src/panel/graph/model";
import { rowStep, start, step as go } from "../../../src/panel/graph/navigation";
import { shortProcesses } from "../../../src/panel/ui/text/processNames";
import { segmentRows } from "../../../src/panel/segments/rows";
import { layoutInput } from "../../../src/panel/graph/sizes";
import { edge, node, row, segment, slice, step } from "../../support/samples";

const measure = (text: string): number => text.length * 7;

test("arrows() keeps numbers and units together", () => {
  expect(arrows("took 1.2 ms -> 30 s (18 %), 5 spans, 3 minutes later")).toBe(
    "took 1.2\u00a0ms → 30\u00a0s (18\u00a0%), 5 spans, 3 minutes later",
  );
});

describe("slice graph", () => {
  test("numbers nodes by the steps of the chain, several if the chain returns", () => {
    const graph = fromSlice(slice([node("a"), node("b")], [], [step("b"), step("a"), step("b")]));
    expect(graph.byId.get("b")?.steps).toEqual([1, 3]);
    expect(graph.byId.get("a")?.steps).toEqual([2]);
  });

  test("is sorted by time", () => {
    const nodes = [node("late", { firstNs: 9 }), node("early", { firstNs: 1 }), node("also early", { firstNs: 1 })];
    expect(fromSlice(slice(nodes, [])).nodes.map((one) => one.id)).toEqual(["also early", "early", "late"]);
  });

  test("leaves out edges to missing nodes", () => {
    const graph = fromSlice(slice([node("a"), node("b")], [edge("a", "b"), edge("a", "hidden"), edge("gone", "b")]));
    expect(graph.edges.map((one) => [one.source, one.target])).toEqual([["a", "b"]]);
  });

  test("keeps parallel edges of different kinds apart", () => {
    const graph = fromSlice(slice([node("a"), node("b")], [edge("a", "b"), edge("a", "b", { kind: "state" })]));
    expect(new Set(graph.edges.map((one) => one.id)).size).toBe(2);
  });

  test("search matches every word in label, process and kind", () => {
    const nodes = [node("m:Index.lookup"), node("m:Index.add"), node("log", { process: "c3", label: "Write failed" })];
    const graph = fromSlice(slice(nodes, []));
    expect(search(graph, "index LOOK")).toEqual(["m:Index.lookup"]);
    expect(search(graph, "c3 write")).toEqual(["log"]);
    expect(search(graph, "  ")).toEqual([]);
  });

  test("nodesOf finds nodes of a function by name, or by lines if nodes are events", () => {
    const at = (line: number): Partial<ReturnType<typeof node>> => ({ location: { path: "/p/index.py", line } });
    const graph = fromSlice(slice([node("1", at(40)), node("2", at(61)), node("pkg.index:Index.lookup")], []));
    expect(nodesOf(graph, "pkg.index:Index.lookup", null)).toEqual(["pkg.index:Index.lookup"]);
    expect(nodesOf(graph, "nothing", { path: "/p/index.py", line: 38, endLine: 45 })).toEqual(["1"]);
    expect(nodesOf(graph, "nothing", { path: "/p/other.py", line: 38, endLine: 45 })).toEqual([]);
  });

  test("layoutInput sizes nodes by their texts and layers by their labels", () => {
    const chained = edge("a", "b", { kind: "use", channel: "a channel with a long name", onChain: true });
    const graph = fromSlice(slice([node("a"), node("b".repeat(20))], [edge("a", "b".repeat(20)), chained]));
    const input = layoutInput(graph, "right", measure);
    expect(input.nodes[1]?.width).toBeGreaterThan(140);
    expect(layoutInput(fromSlice(slice([node("a"), node("b")], [chained])), "right", measure).layerGap).toBeGreaterThan(
      150,
    );
  });
});

describe("coalesce", () => {
  const nodes = Array.from({ length: 900 }, (_, index) =>
    node(`pkg.${["wire", "store", "index"][index % 3] ?? ""}:f${index}`, {
      process: `c${index % 2}`,
      root: index === 0,
      onChain: index < 5,
    }),
  );
  const edges = nodes.slice(1).map((one, index) => edge(nodes[Math.floor(index / 2)]?.id ?? "", one.id, { count: 2 }));
  const graph = fromSlice(slice(nodes, edges));

  test("joins nodes down to the limit and loses none", () => {
    const small = coalesce(graph, 500);
    expect(small.nodes.length).toBeLessThanOrEqual(500);
    const held = small.nodes.flatMap((one) => (one.members.length > 0 ? one.members : [one.id]));
    expect(held.sort()).toEqual(nodes.map((one) => one.id).sort());
  });

  test("never joins the root and the chain", () => {
    const small = coalesce(graph, 100);
    for (const one of graph.nodes.filter((any) => any.onChain || any.root)) expect(small.byId.has(one.id)).toBe(true);
  });

  test("keeps the counts of edges between groups", () => {
    const small = coalesce(graph, 500);
    const groupOf = new Map(small.nodes.flatMap((one) => one.members.map((member) => [member, one.id] as const)));
    const seen = graph.edges.filter((one) => {
      const source = groupOf.get(one.source) ?? one.source;
      return source !== (groupOf.get(one.target) ?? one.target);
    });
    const sum = (all: readonly { count: number }[]): number => all.reduce((total, one) => total + one.count, 0);
    expect(sum(small.edges)).toBe(sum(seen));
  });

  test("separates the members of an opened group", () => {
    const small = coalesce(graph, 700);
    const group = small.nodes.find((one) => one.members.length > 0);
    const opened = coalesce(graph, 860, new Set([group?.id ?? ""]));
    expect(opened.byId.has(group?.id ?? "")).toBe(false);
    for (const member of group?.members ?? []) expect(opened.byId.has(member)).toBe(true);
  });

  test("of few nodes returns the graph itself", () => {
    expect(coalesce(graph, 900)).toBe(graph);
  });
});

describe("chain lines", () => {
  const lines = chainLines(
    [
      step("log", { process: "python app server", detail: "handler at app.py:7 · 2 other causes", otherCauses: 2 }),
      step("lookup", { process: "python app server", edge: "scope" }),
      step("mark", { process: "python app server", edge: "state", channel: "chunk", key: "17" }),
      step("send", { process: "python app client", edge: "use", channel: "message" }),
    ],
    shortProcesses(["python app server", "python app client"]),
  );

  test("have one line per step, from the target to the cause", () => {
    expect(lines.map((line) => [line.number, line.title])).toEqual([
      [1, "log"],
      [2, "lookup"],
      [3, "mark"],
      [4, "send"],
    ]);
  });

  test("name the dependence on the next line", () => {
    expect(lines.map((line) => line.because)).toEqual([
      "part of",
      "last changed by: chunk 17",
      "caused by: message",
      "",
    ]);
    expect(lines.map((line) => line.kind)).toEqual(["scope", "state", "use", "scope"]);
  });

  test("mark steps from another process", () => {
    expect(lines.map((line) => line.crosses)).toEqual([false, false, true, false]);
  });

  test("leave the number of other causes out of the detail", () => {
    expect(lines[0]?.detail).toBe("handler at app.py:7");
  });
});

describe("shortProcesses", () => {
  test("are the words in which the command lines differ", () => {
    const names = ["c1", "c2"].map((name) => `shop server --name ${name} --data /tmp/x --generation 1`);
    const short = shortProcesses([...names, "shop client --name client-1 --data /tmp/x", "shop.scenario"]);
    expect([...short.values()]).toEqual(["server c1", "server c2", "client client-1", "shop.scenario"]);
  });

  test("have numbers only if no other word differs", () => {
    const short = shortProcesses(["app worker 1", "app worker 2", "app web 1"]);
    expect(new Set(short.values()).size).toBe(3);
    expect(short.get("app web 1")).toBe("web");
  });

  test("are the whole names if only options differ", () => {
    const short = shortProcesses(["app --a x", "app --b x"]);
    expect([...short.values()]).toEqual(["app --a x", "app --b x"]);
  });
});

describe("critical path rows", () => {
  const segments = Array.from({ length: 60 }, (_, index) =>
    segment(`s${index}`, index * 1000, index % 10 === 5 ? 900 : 1),
  );

  test("fold short segments between long segments and lose none", () => {
    const rows = segmentRows(segments, 24);
    expect(rows.flatMap((one) => one.segments)).toEqual(segments);
    expect(rows.map((one) => one.segments.length)).toEqual([5, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 1, 4]);
  });

  test("add up to the sum of the segments", () => {
    const sum = segments.reduce((total, one) => total + one.selfNs, 0);
    expect(segmentRows(segments, 3).reduce((total, one) => total + one.selfNs, 0)).toBe(sum);
  });

  test("are not folded if opened or few", () => {
    const starts = segmentRows(segments, 24).map((one) => one.startNs);
    expect(segmentRows(segments, 24, new Set(starts))).toHaveLength(60);
    expect(segmentRows(segments.slice(0, 8), 24)).toHaveLength(8);
  });
});

describe("diff rows", () => {
  test("share one scale and show the change without colour", () => {
    const [slow, same] = diffLines([row("slow", 100, 1_000), row("same", 500, 500)]);
    expect([slow?.before, slow?.after, same?.before]).toEqual([0.1, 1, 0.5]);
    expect([slow?.change, slow?.factor, slow?.trend]).toEqual(["+900 ns", "×10", "slower"]);
    expect(diffLines([row("fast", 2_000_000, 1_000)])[0]?.factor).toBe("÷2,000");
    expect([same?.change, same?.factor, same?.trend]).toEqual(["±0", "", "same"]);
  });

  test("name new and removed functions", () => {
    const [added, removed] = diffLines([
      row("a", 0, 70, { status: "after", callsBefore: 0 }),
      row("b", 70, 0, { status: "before", callsAfter: 0 }),
    ]);
    expect([added?.factor, added?.calls]).toEqual(["new", "– → 10"]);
    expect([removed?.factor, removed?.calls]).toEqual(["gone", "10 → –"]);
  });

  test("filter matches every word", () => {
    const rows = [row("pkg:Index.lookup", 1, 2), row("pkg:Index.add", 1, 2)];
    expect(filterRows(rows, "index LOOK").map((one) => one.label)).toEqual(["pkg:Index.lookup"]);
    expect(filterRows(rows, "")).toHaveLength(2);
  });
});

describe("arrow keys in a graph", () => {
  const graph = fromSlice(
    slice(
      [node("root", { root: true }), node("left"), node("right", { onChain: true }), node("leaf")],
      [edge("root", "left"), edge("root", "right", { onChain: true }), edge("right", "leaf"), edge("leaf", "root")],
    ),
  );
  const layout = layered(layoutInput(graph, "down", measure));

  test("start at the root", () => {
    expect(start(graph)).toBe("root");
  });

  test("follow the chain first, and back", () => {
    expect(go(graph, layout, "root", "ArrowDown")).toBe("right");
    expect(go(graph, layout, "right", "ArrowUp")).toBe("root");
  });

  test("lead to the neighbour in the layer and stop at the end", () => {
    const [first, second] = ["left", "right"].sort(
      (a, b) =>
        (layout.nodes.find((node) => node.id === a)?.x ?? 0) - (layout.nodes.find((node) => node.id === b)?.x ?? 0),
    );
    expect(go(graph, layout, first ?? "", "ArrowRight")).toBe(second);
    expect(go(graph, layout, second ?? "", "ArrowLeft")).toBe(first);
    expect(go(graph, layout, second ?? "", "ArrowRight")).toBeUndefined();
  });

  test("follow the direction of the flow", () => {
    const turned = layered(layoutInput(graph, "right", measure));
    expect(go(graph, turned, "root", "ArrowRight")).toBe("right");
  });

  test("reach every node from the root", () => {
    const reached = new Set(["root"]);
    const queue = ["root"];
    for (let id = queue.pop(); id !== undefined; id = queue.pop()) {
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] as const) {
        const next = go(graph, layout, id, key);
        if (next !== undefined && !reached.has(next)) {
          reached.add(next);
          queue.push(next);
        }
      }
    }
    expect(reached.size).toBe(4);
  });
});

describe("format", () => {
  test.each([
    [0, "0 ns"],
    [999, "999 ns"],
    [1_200, "1.2 µs"],
    [999_600, "1 ms"],
    [31_000_000, "31.0 ms"],
    [4_820_000_000, "4.82 s"],
    [125_000_000_000, "2 min 05 s"],
    [-40_000, "−40.0 µs"],
  ])("duration of %d ns is %s", (ns, text) => {
    expect(duration(ns)).toBe(text);
  });

  test("formats changes, counts, times and places", () => {
    expect([change(0), change(1_500_000), change(-2_000)]).toEqual(["±0", "+1.5 ms", "−2 µs"]);
    expect([count(1, "process"), count(12_345, "process"), count(2, "query")]).toEqual([
      "1 process",
      "12,345 processes",
      "2 queries",
    ]);
    expect(offset(12_345_678)).toBe("+0.012346 s");
    expect([place("/w/a/b.py", 3, "/w"), place("/w2/b.py", 3, "/w"), place("/x.py", 0, "")]).toEqual([
      "a/b.py:3",
      "/w2/b.py:3",
      "/x.py",
    ]);
    expect(place("/usr/lib/python3.12/asyncio/events.py", 31, "/w")).toBe("<stdlib>/asyncio/events.py:31");
    expect(place("/w/.venv/lib/python3.13/site-packages/flask/app.py", 2, "/w")).toBe("<site-packages>/flask/app.py:2");
    expect([libraryPlace("/w/lib/app.py"), libraryPlace("/w/python3/app.py")]).toEqual(["", ""]);
  });

  test("shortLabel is short and unambiguous", () => {
    expect(shortLabel("pkg.index:Index.lookup")).toBe("Index.lookup");
    expect(shortLabel("pkg.process:main")).toBe("process.main");
    expect(shortLabel("pkg.m:make.<locals>.inner")).toBe("make.inner");
    expect(shortLabel("Write request failed: chunk 17")).toBe("Write request failed: chunk 17");
  });

  test("elide cuts long texts in the middle", () => {
    const fits = (text: string): boolean => text.length <= 10;
    expect(elide("short", fits)).toBe("short");
    expect(elide("a very long name indeed", fits)).toMatch(/^a very?.*….*eed$/);
    expect(elide("a very long name indeed", fits).length).toBeLessThanOrEqual(10);
  });
});

test("rowStep leads from row to row and never outside of the table", () => {
  expect(
    ["ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End", "Tab"].map((key) => rowStep(key, 3, 20)),
  ).toEqual([4, 2, 13, 0, 0, 19, undefined]);
  expect([rowStep("ArrowUp", 0, 20), rowStep("ArrowDown", 19, 20), rowStep("PageDown", 15, 20)]).toEqual([0, 19, 19]);
});

test.each([
  ["no code", ["no code"]],
  ["record more (`clew run --spec`), or less", ["record more (", "clew run --spec", "), or less"]],
  ["`a` and `b`", ["", "a", " and ", "b", ""]],
  ["a ` that has no pair", ["a ` that has no pair"]],
  ["", [""]],
])("withCode of %j splits text and code in backquotes", (sentence, pieces) => {
  expect(withCode(sentence)).toEqual(pieces);
});
