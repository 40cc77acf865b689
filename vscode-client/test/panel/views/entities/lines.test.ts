/** The lines of entities: very many lines are painted over several frames, each line once. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { EACH_FRAME, KnownLines } from "../../../../src/panel/views/entities/paint/knownLines";
import type { Frame, Seen } from "../../../../src/panel/views/entities/drawings/contract";
import { FadingLines } from "../../../../src/panel/views/entities/paint/fadingLines";
import { Activity, type Talk } from "../../../../src/panel/views/entities/model/activity";
import { looksDifferent } from "../../../../src/panel/views/entities/model/state";
import type { EntityBox } from "../../../../src/shared/protocol";

/** A canvas context that stores the lines traced on it, with width and alpha. */
class Traced {
  lines: string[] = [];
  looks: { width: number; alpha: number }[] = [];
  lineWidth = 0;
  globalAlpha = 1;
  private from = "";
  scale = (): undefined => undefined;
  beginPath = (): undefined => undefined;
  stroke = (): void => {
    this.looks.push({ width: this.lineWidth, alpha: this.globalAlpha });
  };
  moveTo = (x: number): void => {
    this.from = String(x);
  };
  lineTo = (x: number): void => {
    this.lines.push(`${this.from} ${x}`);
  };
}

const pens: Traced[] = [];

beforeEach(() => {
  pens.length = 0;
  vi.stubGlobal("document", {
    createElement: () => {
      const pen = new Traced();
      pens.push(pen);
      return { getContext: () => pen };
    },
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Makes a frame of point entities at x = their number, each with a line to the next. */
function frameOf(count: number, activity = new Activity()): Frame {
  for (let at = 0; at < count; at++)
    activity.know({ source: at, target: at + 1, count: 1, channel: "", ns: 0, event: 0 });
  const seen = Array.from({ length: count + 1 }, (_, x) => ({ x, y: 0, radius: 0 }) as Seen);
  const talks = { [Symbol.iterator]: () => activity.lines };
  return { byId: new Map(seen.entries()), talks, colours: {}, width: 10, height: 10 } as unknown as Frame;
}

const all = (count: number): string[] => Array.from({ length: count }, (_, at) => `${at} ${at + 1}`);
const like = { width: 10, height: 10 } as HTMLCanvasElement;

describe("known lines", () => {
  test("are painted in one frame if they are few or the view changed", () => {
    for (const count of [EACH_FRAME, 3 * EACH_FRAME]) {
      const known = new KnownLines();
      expect(known.paint(frameOf(count), like, 0)).toBe(true);
      expect(pens.at(-1)?.lines).toEqual(all(count));
      expect(known.isLate).toBe(false);
      expect(known.paint(frameOf(count), like, 1)).toBe(false);
    }
  });

  test("are painted over several frames if many changed, none twice, at a limited rate", () => {
    const known = new KnownLines();
    const frame = frameOf(2 * EACH_FRAME + 7);
    known.paint(frame, like, 0);
    known.change();
    expect(known.paint(frame, like, 1)).toBe(false);
    expect(pens).toHaveLength(1);
    expect([2000, 2001, 2002].map((now) => known.paint(frame, like, now))).toEqual([false, false, true]);
    expect(pens.at(-1)?.lines).toEqual(all(2 * EACH_FRAME + 7));
    expect(known.isLate).toBe(false);
  });

  test("wait for a frame with time, unless the view changed", () => {
    const known = new KnownLines();
    const frame = frameOf(7);
    expect(known.paint(frame, like, 0, true)).toBe(true);
    known.change();
    expect(known.paint(frame, like, 1000, true)).toBe(false);
    expect(known.isLate).toBe(true);
    expect(known.paint(frame, like, 1001)).toBe(true);
  });

  test("changed while painting are painted again", () => {
    const known = new KnownLines();
    const frame = frameOf(2 * EACH_FRAME);
    known.paint(frame, like, 0);
    known.change();
    known.paint(frame, like, 1000);
    known.change();
    expect(known.paint(frame, like, 1001)).toBe(true);
    expect(known.isLate).toBe(true);
  });
});

describe("fading lines", () => {
  const used = (count: number, activity: Activity): Talk[] =>
    Array.from({ length: count }, (_, at) =>
      activity.talk({ source: at, target: at + 1, count: 1, channel: "", ns: 0, event: 0 }),
    );

  test("are painted in the next frame if they are few", () => {
    const [trails, activity, pen] = [new FadingLines(), new Activity(), new Traced()];
    trails.add(used(100, activity));
    expect(trails.paintNew(pen as never, frameOf(100, activity), activity)).toBe(true);
    expect(pen.lines).toEqual(all(100));
  });

  test("wait for a frame with time", () => {
    const [trails, activity, pen] = [new FadingLines(), new Activity(), new Traced()];
    trails.add(used(100, activity));
    expect(trails.paintNew(pen as never, frameOf(100, activity), activity, true)).toBe(false);
    expect(pen.lines).toEqual([]);
    expect(trails.paintNew(pen as never, frameOf(100, activity), activity)).toBe(true);
    expect(pen.lines).toEqual(all(100));
  });

  test("of very many communications are all painted within half a second, each once", () => {
    const [trails, activity, pen] = [new FadingLines(), new Activity(), new Traced()];
    const talks = used(20_000, activity);
    const frame = frameOf(20_000, activity);
    trails.add(talks);
    trails.add(talks);
    const most: number[] = [];
    for (let done = false; !done; most.push(pen.lines.length)) done = trails.paintNew(pen as never, frame, activity);
    expect(pen.lines.sort()).toEqual(all(20_000).sort());
    expect(most.length).toBeLessThanOrEqual(28);
    expect(Math.max(...most.map((count, at) => count - (most[at - 1] ?? 0)))).toBeLessThan(800);
  });

  test("are thinner and fainter the more are visible; faded lines do not count", () => {
    const looks = (count: number, again = 0): Traced["looks"][number] => {
      const [trails, activity, pen] = [new FadingLines(), new Activity(), new Traced()];
      used(count, activity);
      const frame = frameOf(count, activity);
      if (again > 0) {
        activity.pass(20_000);
        used(again, activity);
      }
      trails.paint(pen as never, frame, activity);
      expect(pen.looks).toHaveLength(again || count);
      return pen.looks[0] ?? { width: 0, alpha: 0 };
    };
    const [few, many, most] = [looks(200), looks(1000), looks(20_000)];
    expect(looks(20)).toEqual(few);
    expect(many.alpha).toBeCloseTo(few.alpha / 2);
    expect(many.width).toBeLessThan(few.width);
    expect(most.alpha).toBeLessThan(many.alpha);
    expect(most.alpha).toBeGreaterThan(0.2);
    expect(most.width).toBeGreaterThanOrEqual(0.5);
    expect(looks(20_000, 20).alpha).toEqual(few.alpha);
  });
});

test("looksDifferent ignores the counts of communications", () => {
  const before = { entity: 1, name: "a", container: 2, presence: "there", holds: 0, hidden: 0, sent: 1 } as EntityBox;
  expect(looksDifferent({ before, after: { ...before, sent: 7, received: 1 } })).toBe(false);
  for (const other of [{ container: 3 }, { presence: "gone" }, { holds: 1 }, { name: "b" }, { hidden: 4 }] as const) {
    expect(looksDifferent({ before, after: { ...before, ...other } })).toBe(true);
  }
  expect(looksDifferent({ before: undefined, after: before })).toBe(true);
});
