import { describe, expect, it } from "vitest";
import type { WalkEnd, WalkParams, WalkResult } from "../../../../src/shared/protocol";
import { begin, standing, stepped, visit, type Walk, WAYS, type Way } from "../../../../src/shared/walk";
import {
  NODE,
  COLUMN,
  freeSlot,
  pinnedLayout,
  ROW,
  type Slot,
  slotKey,
} from "../../../../src/panel/views/walk/pinnedLayout";
import { nodeId, type Known, learn, MAX_NODES, walkGraph } from "../../../../src/panel/views/walk/graph";
import { RUN } from "../../../support/samples";
import { random } from "../../../support/random";

/** Makes a server of a random run: events on a few strands, with edges between them. */
function server(seed: number, events = 400): { ask: (params: WalkParams) => Promise<WalkResult> } {
  const numbers = random(seed);
  const below = (bound: number): number => numbers.below(bound);
  const edges = Array.from({ length: events }, () => [below(events), below(events)] as const);
  const strand = (event: number): number => Math.floor(event / 50);
  const end = (event: number, edge = "use"): WalkEnd => ({
    event,
    title: `event ${event}`,
    edge,
    channel: edge === "use" ? "queue" : "",
    sentence: "through a queue",
    kind: "call",
    process: `p${strand(event) % 3}`,
    strand: `t${strand(event)}`,
    timeNs: event * 10,
    onChain: false,
    location: null,
  });
  const lies = (event: number, way: Way): WalkEnd[] => {
    const beside = (other: number): WalkEnd[] =>
      other >= 0 && other < events && strand(other) === strand(event) ? [end(other, "next")] : [];
    switch (way) {
      case "cause":
        return edges.filter(([, to]) => to === event).map(([from]) => end(from));
      case "effect":
        return edges.filter(([from]) => from === event).map(([, to]) => end(to));
      case "previous":
        return beside(event - 1);
      case "next":
        return beside(event + 1);
      case "out":
        return beside(event - 5);
      case "in":
        return event % 3 === 0 ? beside(event + 1) : [];
    }
  };
  return {
    ask: ({ target, step = "here", choice = 0 }) => {
      const from = target.event ?? 0;
      const ends = step === "here" ? [] : lies(from, step);
      const to = step === "here" ? from : (ends[choice] ?? ends[0])?.event;
      const at = to ?? from;
      return Promise.resolve({
        run: RUN,
        card: {
          ...end(at),
          durationNs: null,
          function: "",
          text: "",
          facts: [],
          machine: "",
        },
        ways: WAYS.map((way) => {
          const found = lies(at, way);
          return { step: way, count: found.length, ends: found, stop: found.length > 0 ? "" : "nothing" };
        }),
        step,
        moved: to !== undefined,
        sentence: step === "here" ? "" : "said",
        ends,
        choice,
        clock: "",
        uncertain: false,
        gaps: [],
        message: "",
      });
    },
  };
}

/** Makes a random walk, with the known graph after each step. */
async function wander(seed: number, steps: number): Promise<{ walk: Walk; known: Known }[]> {
  const numbers = random(seed + 1);
  const below = (bound: number): number => numbers.below(bound);
  const { ask } = server(seed);
  const pick = <T>(from: readonly T[]): T | undefined => from[below(from.length)];
  let walk = await begin(ask, { target: { event: below(400) } });
  let known = learn(undefined, walk);
  const all = [{ walk, known }];
  for (let number = 0; number < steps; number++) {
    const shown = below(5) === 0 ? pick([...known.events.keys()]) : undefined;
    walk =
      shown === undefined
        ? await stepped(ask, walk, pick([...WAYS, "back", "forward"] as const) ?? "cause", below(3))
        : await visit(ask, walk, shown);
    known = learn(known, walk);
    all.push({ walk, known });
  }
  return all;
}

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);

describe("walk graph", () => {
  it("keeps each node in place when others are opened", async () => {
    for (const seed of SEEDS) {
      const all = await wander(seed, 40);
      for (const [index, { known }] of all.entries()) {
        const before = all[index - 1]?.known.slots ?? new Map<number, Slot>();
        for (const [event, slot] of before) {
          if (known.slots.has(event)) expect(known.slots.get(event)).toEqual(slot);
        }
      }
    }
  });

  it("has no overlapping nodes", async () => {
    for (const seed of SEEDS) {
      const { known } = (await wander(seed, 40)).at(-1) ?? { known: undefined };
      const slots = [...(known?.slots.values() ?? [])];
      expect(new Set(slots.map(slotKey)).size).toBe(slots.length);
      for (const { column, row } of slots) expect([column, row].every(Number.isInteger)).toBe(true);
    }
    expect(NODE.width).toBeLessThan(COLUMN);
    expect(NODE.height).toBeLessThan(ROW);
  });

  it("has the neighbours of the present event, within its limit", async () => {
    for (const seed of SEEDS) {
      for (const { walk, known } of await wander(seed, 60)) {
        expect(known.events.size).toBeLessThanOrEqual(MAX_NODES);
        expect([...known.slots.keys()].sort()).toEqual([...known.events.keys()].sort());
        expect(known.events.has(standing(walk))).toBe(true);
        for (const way of walk.result.ways) {
          for (const end of way.ends.slice(0, 1)) expect(known.events.has(end.event)).toBe(true);
        }
        for (const link of known.links.values()) {
          expect(known.events.has(link.source) && known.events.has(link.target)).toBe(true);
        }
      }
    }
  });

  it("opens causes left, effects right, previous events above and next events below", async () => {
    const side: Record<Way, (from: Slot, to: Slot) => boolean> = {
      cause: (from, to) => to.column < from.column,
      effect: (from, to) => to.column > from.column,
      previous: (from, to) => to.row < from.row,
      out: (from, to) => to.row < from.row,
      next: (from, to) => to.row > from.row,
      in: (from, to) => to.row > from.row,
    };
    for (const seed of SEEDS) {
      const all = await wander(seed, 20);
      for (const [index, { walk, known }] of all.entries()) {
        const before = all[index - 1]?.known.slots;
        const here = known.slots.get(standing(walk));
        const seen = new Set<number>();
        for (const way of walk.result.ways) {
          for (const { event } of way.ends) {
            const slot = known.slots.get(event);
            // Known nodes stay; a node in two directions is opened by the first.
            if (slot && here && !before?.has(event) && !seen.has(event)) expect(side[way.step](here, slot)).toBe(true);
            seen.add(event);
          }
        }
      }
    }
  });

  it("numbers the walked path and marks its edges", async () => {
    const { ask } = server(3);
    let walk = await begin(ask, { target: { event: 100 } });
    let known = learn(undefined, walk);
    for (const step of ["next", "next", "next"] as const) {
      walk = await stepped(ask, walk, step);
      known = learn(known, walk);
    }
    const graph = walkGraph(known, walk);
    expect(walk.visited.map(({ event }) => graph.byId.get(nodeId(event))?.steps)).toEqual([[1], [2], [3], [4]]);
    expect(graph.edges.filter((edge) => edge.onChain)).toHaveLength(3);
    const layout = pinnedLayout(new Map([...known.slots].map(([event, slot]) => [nodeId(event), slot])), graph.edges);
    expect(layout.routes).toHaveLength(graph.edges.length);
    expect(layout.nodes).toHaveLength(graph.nodes.length);
  });

  it("freeSlot finds a slot however many are taken", () => {
    const taken = new Set<string>();
    for (let number = 0; number < 300; number++) {
      const slot = freeSlot(taken, { column: 0, row: 0 }, number % 2 ? "left" : "down");
      expect(taken.has(slotKey(slot))).toBe(false);
      taken.add(slotKey(slot));
    }
  });
});

describe("walk", () => {
  it("goes back and forward through visited events", async () => {
    const { ask } = server(5);
    let walk = await begin(ask, { target: { event: 60 } });
    walk = await stepped(ask, walk, "next");
    walk = await stepped(ask, walk, "back");
    expect(standing(walk)).toBe(60);
    expect((await stepped(ask, walk, "back")).result.sentence).toBe("the walk began here");
    walk = await stepped(ask, walk, "forward");
    expect(standing(walk)).toBe(61);
    walk = await visit(ask, walk, 60);
    expect([standing(walk), walk.visited.length]).toEqual([60, 2]);
    walk = await stepped(ask, walk, "previous");
    expect(walk.visited.map((one) => one.event)).toEqual([60, 59]);
  });

  it("stays at its event if a step has no end", async () => {
    const { ask } = server(5);
    const walk = await begin(ask, { target: { event: 0 } });
    const stopped = await stepped(ask, walk, "previous");
    expect([standing(stopped), stopped.result.moved, stopped.visited.length]).toEqual([0, false, 1]);
  });
});
