import { describe, expect, it } from "vitest";
import {
  type Group,
  HEAD,
  nest,
  type Nested,
  nestedLayout,
  type Rectangle,
  rectangle,
} from "../../../../src/panel/views/aggregate/nestedLayout";
import {
  aggregateGraph,
  nodesOf,
  closing,
  groupsOf,
  idOf,
  isWithin,
  meta,
  openedAround,
  opening,
  type Path,
  sorted,
} from "../../../../src/panel/views/aggregate/model";
import { nearest } from "../../../../src/panel/graph/navigation";
import type { AggregateBox, AggregateResult } from "../../../../src/shared/protocol";
import { random, type RandomNumbers } from "../../../support/random";
import { RUN } from "../../../support/samples";

const LEVELS = ["machine", "process", "thread", "component", "function"];

function box(path: Path, more: Partial<AggregateBox> = {}): AggregateBox {
  return {
    path: [...path],
    label: path.at(-1) ?? "",
    level: LEVELS[path.length - 1] ?? "",
    events: 10,
    calls: 4,
    selfNs: 1000,
    totalNs: 3000,
    waitingNs: 500,
    errors: 0,
    heat: 0.5,
    inside: 0,
    firstEvent: 0,
    location: null,
    ...more,
  };
}

/** Makes a server for a random run with several children in most containers and one in some. */
function server(numbers: RandomNumbers): (opened: readonly Path[]) => AggregateResult {
  const leaves: Path[] = [];
  const fill = (path: Path): void => {
    if (path.length === LEVELS.length) leaves.push(path);
    else {
      const count = numbers.below(3) === 0 ? 1 : 1 + numbers.below(path.length === 4 ? 9 : 4);
      for (let at = 0; at < count; at++) fill([...path, `${LEVELS[path.length] ?? ""} ${at}`]);
    }
  };
  fill(["this machine"]);
  const inside = (path: Path): Set<string> =>
    new Set(leaves.filter((leaf) => isWithin(leaf, path)).map((leaf) => idOf(leaf.slice(0, path.length + 1))));
  const made = (path: Path): AggregateBox =>
    box(path, {
      inside: path.length < 5 ? inside(path).size : 0,
      firstEvent: leaves.findIndex((leaf) => idOf(leaf) === idOf(path) || isWithin(leaf, path)),
    });
  return (opened) => {
    const gone = new Set(opened.map(idOf));
    for (const path of [...opened].sort((a, b) => a.length - b.length)) {
      let there = path;
      for (;;) {
        const [only, ...others] = inside(there);
        if (only === undefined || others.length > 0 || there.length + 1 >= LEVELS.length) break;
        there = only.split("\u001f");
        gone.add(only);
      }
    }
    const nodes = new Map<string, AggregateBox>();
    const containers = new Map<string, AggregateBox>();
    for (const leaf of leaves) {
      let depth = 2;
      while (depth < 5 && gone.has(idOf(leaf.slice(0, depth)))) {
        containers.set(idOf(leaf.slice(0, depth)), made(leaf.slice(0, depth)));
        depth += 1;
      }
      nodes.set(idOf(leaf.slice(0, depth)), made(leaf.slice(0, depth)));
    }
    return {
      run: RUN,
      title: "All of run r",
      nesting: LEVELS,
      level: "process",
      boxes: [...nodes.values()],
      containers: [...containers.values()]
        .sort((a, b) => a.path.length - b.path.length)
        .map((one) => ({ box: one, hiddenBoxes: 0 })),
      edges: [],
      hiddenBoxes: 0,
      countedCalls: 0,
      message: "",
    };
  };
}

function meets(a: Rectangle, b: Rectangle): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}

describe("aggregate layout of opened nodes", () => {
  it("keeps nodes in place while others open or close, without overlapping frames", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const numbers = random(seed);
      const ask = server(numbers);
      let opened: Path[] = [];
      let nested: Nested | undefined;
      let places = new Map<string, string>();
      for (let step = 0; step < 25; step++) {
        const result = ask(opened);
        const groups = groupsOf(result);
        nested = nest(nested, groups);
        const layout = nestedLayout(nested, []);
        const now = new Map(layout.nodes.map((one) => [one.id, `${one.x} ${one.y}`]));
        expect(now.size).toBe(layout.nodes.length);
        for (const [id, place] of now) if (places.has(id)) expect(place).toBe(places.get(id));
        const frames = [...nested.values()].map(rectangle);
        frames.forEach((one, at) => {
          expect(frames.slice(at + 1).filter((other) => meets(one, other))).toEqual([]);
        });
        // A reopened frame may be elsewhere: others may have taken its space.
        places = now;
        const around = result.boxes.filter((one) => one.inside > 0);
        const chosen = around[numbers.below(around.length)];
        if (numbers.below(3) === 0 && opened.length > 0) opened = closing(opened, opened[0] ?? []);
        else if (chosen) opened = opening(opened, chosen.path);
      }
    }
  });

  it("has each node in exactly one frame", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const numbers = random(seed);
      const ask = server(numbers);
      let opened: Path[] = [];
      for (let step = 0; step < 6; step++) {
        const result = ask(opened);
        const members = groupsOf(result).flatMap((group) => group.members);
        expect(new Set(members).size).toBe(members.length);
        for (const one of result.boxes) expect(members).toContain(idOf(one.path));
        for (const group of groupsOf(result).slice(1)) {
          expect(members).toContain(group.anchor);
          const container = nodesOf(result).get(group.id);
          for (const member of group.members)
            expect(isWithin(member.split("\u001f"), container?.path ?? [])).toBe(true);
        }
        const around = result.boxes.filter((one) => one.inside > 0);
        opened = opening(opened, around[numbers.below(around.length)]?.path ?? []);
      }
    }
  });

  it("places a frame next to its parent frame, level with the opened node", () => {
    const groups: Group[] = [
      { id: "", anchor: "", members: ["a", "b"] },
      { id: "b", anchor: "b", members: ["b1", "b2"] },
    ];
    const nested = nest(undefined, groups);
    const places = new Map(nestedLayout(nested, []).nodes.map((one) => [one.id, one]));
    expect(places.get("b1")?.y).toBe(places.get("b")?.y);
    expect(places.get("b1")?.x).toBeGreaterThan(places.get("b")?.x ?? 0);
    const frame = nested.get("b");
    expect(frame && rectangle(frame).top).toBe((places.get("b")?.y ?? 0) - 24 - HEAD);
  });

  it("joins single-child containers into one frame named after all of them", () => {
    const path = ["this machine", "db", "MainThread", "db"];
    const containers = [2, 3, 4].map((depth) => ({
      box: box(path.slice(0, depth), { inside: depth === 4 ? 2 : 1 }),
      hiddenBoxes: 0,
    }));
    const functions = ["db:find", "db:put"].map((name) => box([...path, name]));
    const [outer, inner, ...others] = groupsOf({
      ...server(random(1))([]),
      boxes: [box(["this machine", "web"]), ...functions],
      containers,
    });
    expect(new Set(outer?.members)).toEqual(new Set([idOf(path.slice(0, 2)), idOf(["this machine", "web"])]));
    expect([inner?.title, inner?.anchor]).toEqual(["db › MainThread › db", idOf(path.slice(0, 2))]);
    expect(inner?.members).toEqual(functions.map((one) => idOf(one.path)));
    expect(others).toEqual([]);
  });

  it("closes a node with all opened inside, the innermost first", () => {
    const [outer, inner, other] = [
      ["m", "a"],
      ["m", "a", "t"],
      ["m", "b"],
    ] as const;
    const opened = opening(opening(opening([], outer), inner), other);
    expect(openedAround(opened, ["m", "a", "t", "c"])).toEqual(inner);
    expect(openedAround(opened, ["m", "a", "u"])).toEqual(outer);
    expect(openedAround(opened, ["m", "c"])).toBeUndefined();
    expect(closing(opened, outer)).toEqual([other]);
    expect(closing(opened, inner)).toEqual([outer, other]);
  });
});

describe("aggregate arrow keys", () => {
  it("reach every node and never skip a nearer node straight ahead", () => {
    const nested = nest(undefined, groupsOf(server(random(7))([["this machine", "process 0"]])));
    const layout = nestedLayout(nested, []);
    const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"] as const;
    const reached = new Set<string>();
    const open = [nearest(layout, "", "ArrowDown") ?? ""];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      if (reached.has(id)) continue;
      reached.add(id);
      for (const key of keys) open.push(...[nearest(layout, id, key)].filter((one) => one !== undefined));
    }
    expect(reached.size).toBe(layout.nodes.length);
    const column = {
      ...layout,
      nodes: ["a", "b", "c"].map((id, row) => ({ id, x: 0, y: row * 70, width: 10, height: 10 })),
    };
    expect(keys.map((key) => nearest(column, "b", key))).toEqual(["a", "c", undefined, undefined]);
  });
});

describe("aggregate node", () => {
  it("text starts with the selected measure", () => {
    const one = box(["m", "p"], { selfNs: 1_200_000, waitingNs: 3_000, calls: 12, errors: 2 });
    expect(meta(one, "self")).toBe("self 1.2 ms · 12 calls");
    expect(meta(one, "waiting")).toBe("waiting 3 µs · 12 calls");
    expect(meta(one, "calls")).toBe("12 calls · self 1.2 ms");
    expect(meta(one, "errors")).toBe("2 errors · 12 calls");
    expect(meta(box(["m", "p"], { calls: 0, selfNs: 0, events: 7 }), "self")).toBe("7 events");
  });

  it("heat is its share, and zero if opened", () => {
    const ask = server(random(3));
    const result = ask([ask([]).boxes.find((one) => one.inside > 1)?.path ?? []]);
    const graph = aggregateGraph(result, groupsOf(result), "self");
    const opened = idOf(result.containers[0]?.box.path ?? []);
    expect(graph.byId.get(opened)?.heat).toBe(0);
    expect(graph.nodes.filter((node) => node.id !== opened).every((node) => node.heat === 0.5)).toBe(true);
  });

  it("pair has one edge with the best name and the sum of counts", () => {
    const result = {
      ...server(random(3))([]),
      boxes: [box(["m", "a"]), box(["m", "b"])],
      edges: [
        { source: 0, target: 1, kind: "call", channel: "", count: 5, delayNs: 0 },
        { source: 0, target: 1, kind: "use", channel: "queue", count: 3, delayNs: 200 },
        { source: 0, target: 1, kind: "sync", channel: "lock", count: 2, delayNs: 50 },
      ] as AggregateResult["edges"],
    };
    const graph = aggregateGraph(result, groupsOf(result), "self");
    expect(graph.edges).toMatchObject([{ kind: "use", channel: "queue, lock", count: 10, latencyNs: 700 }]);
  });

  it("list is sorted by any column, both ways", () => {
    const nodes = [box(["m", "b"], { calls: 1 }), box(["m", "a"], { calls: 9 }), box(["m", "c"], { calls: 5 })];
    const labels = (column: "label" | "calls", reverse: boolean): string =>
      sorted(nodes, column, reverse)
        .map((one) => one.label)
        .join("");
    expect([labels("label", false), labels("label", true)]).toEqual(["abc", "cba"]);
    expect([labels("calls", false), labels("calls", true)]).toEqual(["acb", "bca"]);
  });
});
