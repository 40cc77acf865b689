/** Playing entities: steps and their undo, fading activity, texts and lists. */
import { describe, expect, test } from "vitest";
import type {
  EntitiesResult,
  EntityBox,
  EntityEventsResult,
  EntityLine,
  RunRef,
} from "../../../../src/shared/protocol";
import { Activity, FADE_MS, loadShare, widthOf } from "../../../../src/panel/views/entities/model/activity";
import { labelsOf } from "../../../../src/panel/views/entities/model/labels";
import { busiestFirst, inOrder, named } from "../../../../src/panel/views/entities/model/order";
import { addCustomDrawing } from "../../../../src/panel/views/entities/drawings/customModules";
import { PlayClock, SPEEDS } from "../../../../src/panel/views/entities/player/clock";
import type { EntitySource, Goal } from "../../../../src/panel/views/entities/model/source";
import { EntityAnswers } from "../../../../src/panel/views/entities/report";
import { EntityState, type Step } from "../../../../src/panel/views/entities/model/state";
import { entityText, clarityText, stepText } from "../../../../src/panel/views/entities/model/sentences";
import { neighbourOf } from "../../../../src/panel/ui/listNavigation";
import { EntityPlayer } from "../../../../src/panel/views/entities/player/player";
import { entitiesAt, withoutTime } from "../../../../src/panel/views/entities/question";
import { register } from "../../../../src/panel/views/custom/loader";
import { isRun } from "../../../../src/panel/ui/runs";
import { ViewRegistry } from "../../../../src/panel/views/registry";
import { box } from "../../../support/entityBox";
import { random } from "../../../support/random";

const registry = new ViewRegistry([]);

function line(source: number, target: number, count = 1): EntityLine {
  return { source, target, count, channel: "queue", ns: 0, event: 0 };
}

/** A run in memory: at each moment one entity appears, ends, moves or talks. */
class Memory implements EntitySource {
  readonly moments: EntityBox[][] = [[]];
  readonly talks: (EntityLine | undefined)[] = [];

  constructor(seed: number, length: number) {
    const choose = random(seed);
    for (let at = 0; at < length; at++) {
      const boxes = new Map((this.moments[at] ?? []).map((one) => [one.entity, one]));
      const entity = choose.below(12);
      let talk: EntityLine | undefined;
      if (!boxes.has(entity)) boxes.set(entity, box(entity, entity < 3 ? -1 : choose.below(3)));
      else if (choose.below(5) === 0) boxes.delete(entity);
      else if (choose.below(4) === 0) boxes.set(entity, box(entity, choose.below(3)));
      else talk = line(entity, choose.below(12));
      this.talks.push(talk);
      this.moments.push([...boxes.values()]);
    }
  }

  /** Returns the state at a moment; moments are 10 ns apart. */
  state(when: { moment: number } | "end" | "fullest"): Promise<EntitiesResult> {
    const moment = typeof when === "string" ? this.talks.length : when.moment;
    const result = { boxes: this.moments[moment] ?? [], moment, ns: 10 * moment, moments: this.talks.length };
    return Promise.resolve({ ...result, fromNs: 0, toNs: 10 * this.talks.length } as EntitiesResult);
  }

  way(from: number, to: Goal): Promise<EntityEventsResult> {
    const moment = to === "end" ? this.talks.length : "moment" in to ? to.moment : Math.floor(to.ns / 10);
    const [before, after] = [this.moments[from] ?? [], this.moments[moment] ?? []];
    const old = new Map(before.map((one) => [one.entity, one]));
    const now = new Set(after.map((one) => one.entity));
    return Promise.resolve({
      run: "r", finished: true, fromMoment: from, toMoment: moment, fromNs: 10 * from, toNs: 10 * moment,
      changed: after.filter((one) => JSON.stringify(one) !== JSON.stringify(old.get(one.entity))),
      removed: before.filter((one) => !now.has(one.entity)).map((one) => one.entity),
      lines: this.talks.slice(Math.min(from, moment), Math.max(from, moment)).flatMap((talk) => talk ?? []),
      hiddenLines: 0, unseen: 0,
    }); // prettier-ignore
  }

  about(): never {
    throw new Error("no entity is requested");
  }

  follow(): () => void {
    return () => undefined;
  }
}

const sorted = (boxes: Iterable<EntityBox>): EntityBox[] => [...boxes].sort((a, b) => a.entity - b.entity);

function playerOf(told: string[] = []): EntityPlayer {
  return new EntityPlayer({
    handle: ({ from, to }) => told.push(`${from}>${to}`),
    unhandle: ({ from, to }) => told.push(`${from}<${to}`),
    jump: ({ from, to }, forward) => told.push(forward ? `${from}>>${to}` : `${from}<<${to}`),
    changed: () => undefined,
    failed: (error) => {
      throw error as Error;
    },
  });
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

describe("entity state", () => {
  test.each([1, 2, 3])("reaches any moment by steps and returns by the same steps", async (seed) => {
    const memory = new Memory(seed, 120);
    const choose = random(seed + 9);
    const state = new EntityState();
    state.begin(await memory.state({ moment: 0 }));
    for (let turn = 0; turn < 40; turn++) {
      const from = state.moment;
      const step = state.stepOf(await memory.way(from, { moment: choose.below(121) }));
      const forward = step.from === from && step.to >= from;
      const ends = [from, forward ? step.to : step.from] as const;
      for (const [run, moment] of forward
        ? ([
            ["handle", ends[1]],
            ["unhandle", from],
            ["handle", ends[1]],
          ] as const)
        : ([
            ["unhandle", ends[1]],
            ["handle", from],
            ["unhandle", ends[1]],
          ] as const)) {
        state[run](step);
        expect(state.moment).toBe(moment);
        expect(sorted(state.boxes.values())).toEqual(sorted(memory.moments[moment] ?? []));
      }
    }
  });
});

describe("entity player", () => {
  test.each([1, -1] as const)("plays every event once in direction %i and stops at the end", async (direction) => {
    const memory = new Memory(4, 100);
    const told: string[] = [];
    const player = playerOf(told);
    player.begin(memory, await memory.state({ moment: direction > 0 ? 0 : 100 }));
    player.play(direction);
    for (let frame = 0; frame < 3000 && (frame < 5 || player.playing !== 0); frame++) {
      await turns();
      player.frame(16);
      const shown = memory.moments[player.state.moment] ?? [];
      expect(sorted(player.state.boxes.values())).toEqual(sorted(shown));
    }
    expect(player.state.moment).toBe(direction > 0 ? 100 : 0);
    expect(player.playing).toBe(0);
    const ends = told.map((one) => one.split(/[<>]/).map(Number) as [number, number]);
    const inTime = direction > 0 ? ends : ends.reverse();
    expect(inTime.flat().filter((_, at) => at % 2 === 0)).toEqual([0, ...inTime.slice(0, -1).map(([, to]) => to)]);
  });

  test("steps by single events and stops at the ends", async () => {
    const memory = new Memory(5, 30);
    const told: string[] = [];
    const player = playerOf(told);
    player.begin(memory, await memory.state({ moment: 29 }));
    const last = await player.step(1);
    expect([last?.from, last?.to]).toEqual([29, 30]);
    expect(await player.step(1)).toBeUndefined();
    await player.step(-100);
    expect(player.state.moment).toBe(0);
    expect(await player.step(-1)).toBeUndefined();
    expect(told).toEqual(["29>30", "0<30"]);
  });

  test("goTo goes to the last goal and continues playing there", async () => {
    const memory = new Memory(6, 200);
    const told: string[] = [];
    const player = playerOf(told);
    player.begin(memory, await memory.state({ moment: 0 }));
    player.play();
    await turns();
    void player.goTo({ moment: 150 });
    void player.goTo({ moment: 20 });
    await player.goTo({ ns: 800 });
    await turns();
    expect(player.state.moment).toBe(80);
    expect(told.at(-1)).toMatch(/>>80$/);
    expect(player.playing).toBe(1);
    expect(sorted(player.state.boxes.values())).toEqual(sorted(memory.moments[80] ?? []));
  });

  test("play at the end of a finished run restarts at its beginning", async () => {
    const memory = new Memory(7, 50);
    const player = playerOf();
    player.begin(memory, await memory.state("end"));
    player.play();
    await turns();
    expect(player.state.moment).toBe(0);
    expect(player.playing).toBe(1);
  });
});

describe("entity answers of a report", () => {
  test("equal the stored moments and the steps between them", async () => {
    const memory = new Memory(8, 100);
    const ends = [0, 7, 30, 31, 64, 100];
    const steps: EntityEventsResult[] = [];
    for (const [at, from] of ends.slice(0, -1).entries())
      steps.push(await memory.way(from, { moment: ends[at + 1] ?? 0 }));
    const shown = { ...(await memory.state({ moment: 64 })), run: { id: "r" } } as EntitiesResult;
    const report = new EntityAnswers({ steps, about: [] }, shown);
    const state = (params: object): EntitiesResult => report.answer("clew/entities", params) as EntitiesResult;
    const way = (params: object): EntityEventsResult =>
      report.answer("clew/entityEvents", params) as EntityEventsResult;
    for (const [asked, moment] of [
      [{ fullest: true }, 64],
      [{}, 100],
      [{ moment: 29 }, 7],
      [{ moment: 0 }, 0],
      [{ ns: 310 }, 31],
    ] as const) {
      expect(state(asked).moment).toBe(moment);
      expect(sorted(state(asked).boxes)).toEqual(sorted(memory.moments[moment] ?? []));
    }
    for (const from of ends) {
      for (const to of ends) {
        const player = new EntityState();
        player.begin(await memory.state({ moment: from }));
        const step = player.stepOf(way({ fromMoment: from, toMoment: to }));
        player[to >= from ? "handle" : "unhandle"](step);
        expect(player.moment).toBe(to);
        expect(sorted(player.boxes.values())).toEqual(sorted(memory.moments[to] ?? []));
      }
    }
    // A request for a missing moment leads to the next stored moment on the way.
    expect(way({ fromMoment: 31, toMoment: 32 }).toMoment).toBe(64);
    expect(way({ fromMoment: 64, toMoment: 63 }).toMoment).toBe(31);
    expect(way({ fromMoment: 7, toNs: 639 }).toMoment).toBe(31);
    expect(report.answer("clew/entities", { inside: 3 })).toBeUndefined();
  });
});

describe("play clock", () => {
  test("plays the whole run in twenty seconds times the speed", () => {
    const clock = new PlayClock();
    clock.begin(1000, 21_000);
    clock.play(1);
    clock.goTo(clock.after(5_000));
    expect(clock.share).toBeCloseTo(0.25);
    clock.faster(1);
    expect(clock.after(5_000)).toBe(1000 + 20_000 * 0.75);
    for (let at = 0; at < 20; at++) clock.faster(-1);
    expect(clock.rate).toBe(SPEEDS[0]);
    expect(clock.after(1e9)).toBe(21_000);
  });
});

describe("activity", () => {
  test("fades with played time and counts recent communications", () => {
    const activity = new Activity();
    const talk = activity.talk(line(1, 2, 10));
    expect(activity.seen(talk)).toBe(1);
    expect(activity.load(1)).toBe(10);
    activity.pass(FADE_MS);
    expect(activity.seen(talk)).toBeCloseTo(Math.exp(-1));
    expect(activity.load(2)).toBeLessThan(10);
    activity.talk(line(1, 2, 5));
    expect(activity.seen(talk)).toBe(1);
    expect(activity.load(1)).toBeGreaterThan(5);
    expect([...activity.lines]).toHaveLength(1);
    activity.rest();
    expect(activity.seen(talk)).toBe(0);
    expect(talk.count).toBe(15);
  });

  test("width and load share grow with the count, within bounds", () => {
    const widths = [0, 1, 10, 100, 1e6].map(widthOf);
    expect(widths).toEqual([...widths].sort((a, b) => a - b));
    expect(widths.at(-1)).toBe(9);
    expect([0, 1, 5, 30, 100].map((load) => loadShare(load, 30))).toEqual([
      0,
      expect.any(Number),
      expect.any(Number),
      1,
      1,
    ]);
  });
});

describe("sentences", () => {
  test("clarityText has the numbers of clarity", () => {
    const of = { ratio: 2, lines: 10, clear: 8, crossings: 7, mostCrossed: 4, passed: 0, foreign: 0, cleared: false };
    expect(clarityText(of).short).toBe(
      "8 of 10 lines are clear · 2 lines for each entity · 1.4 crossings on a line · lines over other entities: 0",
    );
    expect(clarityText({ ...of, clear: 10, cleared: true, passed: 1 }).short).toMatch(
      /^all lines are clear.* lines over other entities: 1/,
    );
    expect(clarityText({ ...of, ratio: 1, crossings: 5, passed: 2, foreign: 3 }).short).toBe(
      "8 of 10 lines are clear · 1 line for each entity · 1 crossing on a line · lines over other entities: 2" +
        " · overlaps with foreign containers: 3",
    );
  });

  test("stepText names a single step", () => {
    const boxes = new Map([1, 2, 3].map((id) => [id, box(id)]));
    const step = (more: Partial<Step>): Step => ({
      from: 4,
      to: 5,
      fromNs: 0,
      toNs: 0,
      boxes: [],
      lines: [],
      hiddenLines: 0,
      unseen: 0,
      ...more,
    });
    expect(stepText(step({ lines: [line(1, 2)] }), boxes)).toBe("e1 → e2 (queue)");
    expect(stepText(step({ boxes: [{ before: box(3), after: box(3, 2) }] }), boxes)).toBe("e3 moves into e2");
    expect(stepText(step({ boxes: [{ before: undefined, after: box(3) }] }), boxes)).toBe("e3 appears");
    expect(stepText(step({ boxes: [{ before: box(9), after: undefined }] }), boxes)).toBe("e9 ends");
    expect(stepText(step({}), boxes)).toBe("an entity that is not shown");
    expect(stepText(step({ to: 104 }), boxes)).toBe("100 events: now at event 104");
  });
});

test("entityText has container, contents and communications", () => {
  const theater = box(1, -1, { name: "globe", holds: 1200 });
  const actor = box(2, 1, { name: "Kate", sent: 3, received: 4 });
  const known = new Map([theater, actor].map((one) => [one.entity, one]));
  expect(entityText(actor, known)).toBe("Kate, in globe, sent 3, received 4");
  expect(entityText(theater, known)).toBe("globe, holds 1,200, sent 0, received 0");
});

describe("entity lists", () => {
  const theater = new Map([box(1), box(3, 1), box(2), box(4, 2), box(5, 3)].map((one) => [one.entity, one]));

  test("have containers before their contents, and neighbourOf wraps around", () => {
    expect(inOrder(theater)).toEqual([1, 3, 5, 2, 4]);
    expect([9, 1, 4].map((one) => neighbourOf([1, 3, 4], one, 1))).toEqual([1, 3, 1]);
    expect([9, 1, 4].map((one) => neighbourOf([1, 3, 4], one, -1))).toEqual([4, 4, 3]);
    expect(neighbourOf([], 1, 1)).toBeUndefined();
  });

  test("search matches every word", () => {
    const queue = box(6, -1, { name: "order queue" });
    const both = new Map([queue, box(7, -1, { name: "orders" })].map((one) => [one.entity, one]));
    expect([...named(both, "Queue  order")]).toEqual([6]);
    expect([...named(both, "order ")]).toEqual([6, 7]);
  });

  test("busiestFirst sorts by communications, without silent containers", () => {
    const boxes = [box(1, -1, { holds: 2 }), box(2, 1, { sent: 1 }), box(3, 1), box(4, -1, { received: 5, holds: 1 })];
    expect(busiestFirst(new Map(boxes.map((one) => [one.entity, one]))).map(({ entity }) => entity)).toEqual([4, 2, 3]);
  });
});

describe("labelsOf", () => {
  const told = (...boxes: EntityBox[]): string[] => [
    ...labelsOf(new Map(boxes.map((one) => [one.entity, one]))).values(),
  ];

  test("are names if these are unique", () => {
    expect(told(box(1), box(2, 1))).toEqual(["e1", "e2"]);
  });

  test("of equal names have the process, and the machine if that is equal, too", () => {
    const main = { name: "MainThread" };
    expect(
      told(
        box(1, -1, { name: "east" }), box(2, -1, { name: "west" }),
        box(3, 1, { name: "shop" }), box(4, 1, { name: "stock" }), box(5, 2, { name: "stock" }),
        box(6, 3, main), box(7, 4, main), box(8, 5, main),
      ), // prettier-ignore
    ).toEqual([
      "east", "west", "shop", "stock (east)", "stock (west)",
      "MainThread (shop)", "MainThread (stock, east)", "MainThread (stock, west)",
    ]); // prettier-ignore
  });

  test("of equal names in one container stay equal, also in cyclic containers", () => {
    expect(told(box(1, 2, { name: "a" }), box(2, 1, { name: "a" }))).toEqual(["a", "a"]);
  });
});

test("entitiesAt has a time, and withoutTime drops time and moment", () => {
  expect(entitiesAt("r", 12.6)).toEqual({ run: "r", ns: 13 });
  expect(withoutTime({ run: "r", ns: 13, moment: 4, layout: "force" })).toEqual({ run: "r", layout: "force" });
});

test("isRun accepts the id of a snapshot of the run", () => {
  const run = { id: "20261122-shop", name: "shop" } as RunRef;
  const asked = ["20261122-shop@1200-5", "20261122-shop@slow", "20261122-shops@1200-5", "@1200-5"];
  expect(asked.map((which) => isRun(run, which))).toEqual([true, false, false, false]);
  expect(isRun({ ...run, id: "/home/ann/.clew/runs/20261122-shop" }, "20261122-shop@1200-5")).toBe(true);
});

test("isRun accepts folder, id and name of a run of another workspace", () => {
  const run = { id: "/home/ann/shop/.clew/runs/shop-7", name: "shop in /home/ann/shop" } as RunRef;
  expect(["shop-7", run.id, run.name, "", "7", "runs"].map((which) => isRun(run, which))).toEqual([
    true, true, true, false, false, false,
  ]); // prettier-ignore
});

describe("custom drawing", () => {
  const make = (): object => ({});

  test("is registered as a layout and not as a view", () => {
    register(registry, "mine.js", { default: { of: "entities", name: "mine", title: "Mine", make } });
    expect(addCustomDrawing("other.js", { of: "entities", name: "mine", title: "Mine", make })).toBe(false);
    expect(() => {
      register(registry, "other.js", { default: { of: "entities", name: "mine", title: "Other", make } });
    }).toThrow(/other\.js.*“mine”/);
  });

  test("of another view is refused with the reason", () => {
    expect(() => {
      register(registry, "mine.js", { default: { of: "timeline", name: "x", title: "X", make } });
    }).toThrow(/mine\.js.*`of`/);
  });
});
