/** Flows too large for a tree: the places of their calls in lanes, in all pictures and between them. */
import { describe, expect, test } from "vitest";
import { LANES_FROM } from "../../../../../src/panel/views/requests/flow/layout/lanes";
import type { FlowDrawing } from "../../../../../src/panel/views/requests/flow/layout/shapes";
import type { Flow as Direction, PlacedNode } from "../../../../../src/panel/graph/layout/types";
import { type Flow, makeFlow } from "../../../../../src/panel/views/requests/flow/model/flow";
import { strandsOf } from "../../../../../src/panel/views/requests/flow/model/strands";
import {
  betweenPicture,
  pictureOf,
  type Prepared,
  prepare,
} from "../../../../../src/panel/views/requests/flow/layout/prepare";
import { significance } from "../../../../../src/panel/views/requests/flow/model/significance";
import { call, flow, randomFlow } from "../../../../support/flows";
import { random } from "../../../../support/random";

const measure = (text: string): number => text.length * 6.5;

/** Makes a random flow in which some calls start a task. */
function tasks(seed: number, size: number): Flow {
  const numbers = random(seed);
  const { calls, ...whole } = randomFlow(seed, size);
  const made = calls.map((one) => ({ ...one, channel: one.parent && numbers.below(6) === 0 ? "task" : "" }));
  return makeFlow(made, whole);
}

function prepared(shown: Flow, direction: Direction, anchor = ""): Prepared {
  const found = significance(shown, { alpha: 0.05, slower: 0.02 });
  return prepare({ flow: shown, found, repeats: false, equal: false, opened: new Set(), anchor }, shown, direction, measure); // prettier-ignore
}

/** Lists the pairs of nodes that overlap, by a sweep from left to right. */
function overlapping(nodes: readonly PlacedNode[]): string[] {
  const found: string[] = [];
  let open: PlacedNode[] = [];
  for (const node of [...nodes].sort((a, b) => a.x - a.width / 2 - (b.x - b.width / 2))) {
    open = open.filter((one) => one.x + one.width / 2 > node.x - node.width / 2 + 1e-6);
    for (const one of open) {
      if (Math.abs(one.y - node.y) < (one.height + node.height) / 2 - 1e-6) found.push(`${one.id} ${node.id}`);
    }
    open.push(node);
  }
  return found;
}

const SIZE = LANES_FROM + 100;

describe.each(["right", "down"] as const)("flow lanes that go %s", (direction) => {
  test("have no overlapping nodes in any picture or between", () => {
    for (const seed of [1, 2, 3]) {
      const flows = prepared(tasks(seed, SIZE), direction, seed === 3 ? "c40" : "");
      expect(flows.lanes.length).toBeGreaterThan(1);
      for (const picture of ["before", "after", "union"] as const) {
        expect(overlapping(pictureOf(flows, picture).nodes)).toEqual([]);
      }
      for (const time of [0.2, 0.34, 0.5, 0.65, 0.8]) {
        expect(overlapping(betweenPicture(flows, time).drawing.nodes)).toEqual([]);
      }
    }
  });

  test("do not overlap and have exactly the calls of their strands", () => {
    const shown = tasks(4, SIZE);
    const drawn = pictureOf(prepared(shown, direction), "union");
    const strands = strandsOf(shown);
    expect(overlapping(drawn.lanes.map((lane) => lane.box))).toEqual([]);
    expect(drawn.nodes).toHaveLength(SIZE);
    for (const node of drawn.nodes) {
      const holders = drawn.lanes.filter(({ box: lane }) => holds(lane, node));
      expect(holders.map((lane) => lane.id)).toEqual([strands.get(node.id)?.id]);
    }
  });

  test("keep the line from caller to node free of other nodes", () => {
    const shown = tasks(5, SIZE);
    const flows = prepared(shown, direction);
    const drawn = pictureOf(flows, "union");
    const byId = new Map(drawn.nodes.map((node) => [node.id, node]));
    for (const node of drawn.nodes) {
      const caller = byId.get(shown.byId.get(node.id)?.parent ?? "");
      if (!caller) continue;
      expect(begin(node, direction)).toBeGreaterThan(end(caller, direction));
      const way = between(end(caller, direction), begin(node, direction), node, direction);
      expect(drawn.nodes.filter((other) => touches(way, other)).map((other) => `${node.id} over ${other.id}`)).toEqual(
        [],
      );
    }
  });
});

test("flow lanes bars are as long as their latencies", () => {
  const shown = tasks(6, SIZE);
  const flows = prepared(shown, "right");
  const bars = (drawn: FlowDrawing): Map<string, number> =>
    new Map(drawn.bars.map((bar) => [`${bar.id} ${bar.side}`, bar.to[0] - bar.from[0]]));
  const lengths = new Map(flows.boxes.map((node) => [node.id, node.lengths]));
  for (const [key, length] of bars(pictureOf(flows, "union"))) {
    const [id, side] = key.split(" ");
    expect(length).toBeCloseTo(lengths.get(id ?? "")?.[side as "before" | "after"] ?? -1, 6);
  }
});

test("flow lanes put a chain of calls in one row and parallel calls in separate rows", () => {
  const chain = Array.from({ length: LANES_FROM }, (_, index) => call(`c${index}`, index ? `c${index - 1}` : ""));
  expect(new Set(prepared(flow(...chain), "right").lows.values()).size).toBe(1);
  const fan = Array.from({ length: LANES_FROM }, (_, index) => call(`c${index}`, index ? "c0" : ""));
  expect(new Set(prepared(flow(...fan), "right").lows.values()).size).toBe(LANES_FROM - 1);
});

test("flow lanes of smaller flows are empty", () => {
  expect(prepared(tasks(7, LANES_FROM - 1), "right").lanes).toEqual([]);
});

test("strandsOf assigns all calls below the first call of a strand", () => {
  const one = flow(
    call("root", ""),
    call("first", "root", { channel: "task", label: "app:work", name: "work" }),
    call("below", "first"),
    call("second", "root", { channel: "task", label: "app:work", name: "work" }),
    call("thread", "below", { channel: "thread", label: "app:work", name: "work" }),
    call("plain", "root"),
  );
  const names = [...strandsOf(one)].map(([id, strand]) => [id, strand.name]);
  expect(Object.fromEntries(names)).toEqual({
    root: "root", first: "work · task", below: "work · task", second: "work · task", thread: "work · thread", plain: "root",
  }); // prettier-ignore
});

function begin(node: PlacedNode, direction: Direction): number {
  return direction === "down" ? node.y - node.height / 2 : node.x - node.width / 2;
}

function end(node: PlacedNode, direction: Direction): number {
  return direction === "down" ? node.y + node.height / 2 : node.x + node.width / 2;
}

/** Makes a line along the flow between two places, at the height of the node's edge. */
function between(from: number, to: number, { x, y, width, height }: PlacedNode, direction: Direction): PlacedNode {
  const [middle, length] = [(from + to) / 2, to - from];
  return direction === "down"
    ? { id: "", x: x - width / 2 + 20, y: middle, width: 0, height: length }
    : { id: "", x: middle, y: y - height / 2 + 20, width: length, height: 0 };
}

function touches(a: PlacedNode, b: PlacedNode): boolean {
  return Math.abs(a.x - b.x) < (a.width + b.width) / 2 - 1e-6 && Math.abs(a.y - b.y) < (a.height + b.height) / 2 - 1e-6;
}

function holds(outer: PlacedNode, inner: PlacedNode): boolean {
  return (
    Math.abs(outer.x - inner.x) <= (outer.width - inner.width) / 2 &&
    Math.abs(outer.y - inner.y) <= (outer.height - inner.height) / 2
  );
}
