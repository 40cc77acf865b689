/** The pure parts of the timeline: time on the screen, rows, tiles, colours and sentences. */
import { describe, expect, test } from "vitest";
import {
  foldedAtFirst,
  heightOf,
  laneAt,
  lanes,
  ROW,
  seen,
  strandBeside,
  toggleFold,
  topOf,
} from "../../../../src/panel/views/timeline/draw/lanes";
import { HUES, hueOf, inkOn, SHADES } from "../../../../src/panel/ui/hue";
import {
  padded,
  clock,
  CLOSEST_NS,
  lengthOf,
  nsAt,
  panned,
  ticks,
  wholeSpan,
  clamped,
  xOf,
  zoomed,
} from "../../../../src/panel/ui/timeSpan";
import {
  ASLEEP,
  batch,
  BUCKETS,
  TileCache,
  keyOf,
  MOST_CELLS,
  scaleFor,
  tileLength,
  tilesFor,
  unpack,
} from "../../../../src/panel/views/timeline/tiles/tiles";
import { callSentence, leftOut, matchingFunctions, summary } from "../../../../src/panel/views/timeline/sentences";
import { intervalQuestion } from "../../../../src/panel/views/timeline/link";
import type { TimelineCall, TimelineLane, TimelineResult, TimelineStrand } from "../../../../src/shared/protocol";
import { random } from "../../../support/random";
import { RUN } from "../../../support/samples";

/** Almost the largest time with exact nanoseconds in a number. */
const LATE = 104 * 86_400 * 1e9;

function strand(number: number, process: number, depth: number, more: Partial<TimelineStrand> = {}): TimelineStrand {
  return {
    strand: number,
    process,
    name: `thread ${number}`,
    kind: "thread",
    depth,
    events: 10,
    busy: number / 10,
    fromNs: 0,
    toNs: 1e9,
    ...more,
  };
}

function result(strands: TimelineStrand[], more: Partial<TimelineResult> = {}): TimelineResult {
  const processes = [...new Set(strands.map((one) => one.process))].map((process) => ({
    process,
    name: `process ${process}`,
    machine: "",
    strands: strands.filter((one) => one.process === process).length,
  }));
  return {
    run: RUN,
    processes,
    strands,
    hiddenStrands: 0,
    events: 100,
    fromNs: 0,
    toNs: 1e9,
    scale: 20,
    activity: [],
    gaps: [],
    hiddenGaps: 0,
    functions: [],
    hiddenFunctions: 0,
    scales: [],
    message: "",
    ...more,
  };
}

describe("time span", () => {
  const all = wholeSpan(0, LATE);

  test("zoomed keeps the time under the pointer in place", () => {
    const numbers = random(1);
    const next = (): number => numbers.below(1e6) / 1e6;
    let span = all;
    for (let at = 0; at < 300; at += 1) {
      const share = next();
      const kept = span.from + share * lengthOf(span);
      const closer = zoomed(span, 0.5 + next(), share, all);
      expect(closer.from).toBeGreaterThanOrEqual(all.from);
      expect(closer.to).toBeLessThanOrEqual(all.to + 1);
      expect(lengthOf(closer)).toBeGreaterThanOrEqual(CLOSEST_NS);
      const isFree = closer.from > all.from && closer.to < all.to && lengthOf(closer) > CLOSEST_NS;
      if (isFree) expect(Math.abs(xOf(kept, closer, 1000) - share * 1000)).toBeLessThan(2000 / lengthOf(closer) + 1e-3);
      span = closer;
    }
  });

  test("is exact to a nanosecond at the end of the longest run", () => {
    let span = all;
    for (let at = 0; at < 80; at += 1) span = zoomed(span, 0.5, 0.98, all);
    expect(lengthOf(span)).toBe(CLOSEST_NS);
    const from = Math.ceil(span.from);
    for (let at = 0; at < 8; at += 1) {
      expect(xOf(from + at + 1, span, 1600) - xOf(from + at, span, 1600)).toBe(100);
      expect(Math.round(nsAt(xOf(from + at, span, 1600), span, 1600))).toBe(from + at);
    }
    const labels = ticks(span, 1600).map((tick) => tick.label);
    expect(new Set(labels).size).toBe(labels.length);
    expect(ticks(span, 1600).every((tick) => Number.isSafeInteger(tick.ns))).toBe(true);
  });

  test("panned stays inside the run", () => {
    const part = { from: 1e9, to: 2e9 };
    expect(panned(part, -5e9, wholeSpan(0, 1e10))).toEqual({ from: 0, to: 1e9 });
    expect(clamped({ from: -10, to: 1e20 }, all)).toEqual(all);
    expect(padded(100, 200, wholeSpan(0, 1e6))).toEqual({ from: 85, to: 215 });
  });

  test("ticks have round steps, distinct labels and enough distance", () => {
    for (const length of [20, 300, 4e3, 5e4, 6e5, 7e6, 8e7, 9e8, 3e9, 2e10, 6e11, 7e12, 4e14]) {
      const span = { from: 3 * length, to: 4 * length };
      const found = ticks(span, 1200);
      expect(found.length).toBeGreaterThan(1);
      expect(found.length).toBeLessThanOrEqual(12);
      expect(new Set(found.map((tick) => tick.label)).size).toBe(found.length);
      expect(found.every((tick) => tick.ns >= span.from && tick.ns <= span.to)).toBe(true);
    }
  });

  test.each([
    [0, 1, "0.000 000 000 s"],
    [1_234_567_891, 1, "1.234 567 891 s"],
    [1_234_567_891, 1e6, "1.234 s"],
    [61e9, 1e9, "1:01"],
    [3_723_004_005_006, 1, "1:02:03.004 005 006"],
    [-5e8, 1e6, "−0.500 s"],
  ])("clock of %d ns in steps of %d is %s", (ns, step, words) => {
    expect(clock(ns, step).replaceAll("\u2009", " ")).toBe(words);
  });
});

describe("lanes", () => {
  const outer = strand(0, 0, 3);
  const third = strand(2, 1, 2);
  const last = strand(3, 1, 1);
  const some = result([outer, strand(1, 0, 0), third, last]);
  const open = foldedAtFirst(some, false);

  test("follow each other without gaps", () => {
    const all = lanes(some, open);
    let top = 0;
    for (const lane of all) {
      expect(lane.top).toBe(top);
      top += lane.height;
    }
    expect(heightOf(all)).toBe(top);
    expect(all.map((lane) => lane.kind)).toEqual(["process", "strand", "strand", "process", "strand", "strand"]);
  });

  test("topOf and laneAt agree on the place of a row", () => {
    const all = lanes(some, open);
    const top = topOf(all, third, 1) ?? -1;
    const at = laneAt(all, top + 3);
    expect(at?.lane.kind === "strand" && [at.lane.strand.strand, at.depth]).toEqual([2, 1]);
    expect(laneAt(all, -1)).toBeUndefined();
    expect(laneAt(all, 3)?.depth).toBe(-1);
  });

  test("of a folded process are one row, where its arrows end", () => {
    const process = lanes(some, open)[3];
    if (!process) throw new Error("there is no second process");
    const folded = toggleFold(open, process);
    const all = lanes(some, folded);
    expect(all).toHaveLength(4);
    expect(topOf(all, last, 0)).toBe(all[3]?.top);
    expect(lanes(some, toggleFold(folded, process))).toHaveLength(6);
  });

  test("of a folded strand show its outermost calls", () => {
    const first = lanes(some, open)[1];
    if (!first) throw new Error("there is no strand");
    const all = lanes(some, toggleFold(open, first));
    expect(all[1]?.height).toBeLessThan(2 * ROW);
    expect(topOf(all, outer, 2)).toBe(all[1]?.top);
  });

  test("start folded if there are too many, except the first process", () => {
    const many = result([strand(0, 0, 200), strand(1, 1, 50), strand(2, 2, 2)]);
    expect([...foldedAtFirst(many, false).processes]).toEqual([1, 2]);
    expect([...foldedAtFirst(many, true).processes]).toEqual([]);
  });

  test("strandBeside skips strands without calls", () => {
    const all = lanes(some, open);
    expect(strandBeside(all, -1, 1)?.strand).toBe(0);
    expect(strandBeside(all, 0, 1)?.strand).toBe(2);
    expect(strandBeside(all, 0, -1)).toBeUndefined();
    expect(strandBeside(all, -1, -1)?.strand).toBe(3);
  });

  test("outside of the visible part are left out", () => {
    const all = lanes(some, open);
    expect(seen(all, 0, 10).map((lane) => lane.top)).toEqual([0]);
    expect(seen(all, 0, 1e6)).toHaveLength(all.length);
  });
});

describe("tiles", () => {
  test("cover the visible span with buckets about one pixel wide", () => {
    for (const length of [16, 1000, 1e6, 1e9, 1e13]) {
      const span = { from: 12_345, to: 12_345 + length };
      const scale = scaleFor(length / 1200);
      const { first, count } = tilesFor(span, scale);
      expect(first * tileLength(scale)).toBeLessThanOrEqual(span.from);
      expect((first + count) * tileLength(scale)).toBeGreaterThanOrEqual(span.to);
      expect(count).toBeLessThanOrEqual(5);
      if (length > 1200) expect((1200 * 2 ** scale) / length).toBeGreaterThan(0.7);
      if (length > 1200) expect((1200 * 2 ** scale) / length).toBeLessThan(1.42);
    }
  });

  test("are requested in batches below the limit of an answer", () => {
    const all: TimelineLane[] = Array.from({ length: 40 }, (_, at) => ({ strand: at, depths: 16 }));
    const some = batch(all, 4);
    expect(some.length * 16 * 4 * BUCKETS).toBeLessThanOrEqual(MOST_CELLS);
    expect(some.length).toBeGreaterThan(0);
    expect(batch([{ strand: 0, depths: 1000 }], 9)).toHaveLength(1);
  });

  test("unpack decodes the bytes by lane and tile", () => {
    const asked: TimelineLane[] = [{ strand: 4, depths: 2 }, { strand: 5 }, { strand: 6 }];
    const [rows, tiles] = [3, 2];
    const width = BUCKETS * tiles;
    const cells = new Uint16Array(rows * width);
    const covers = new Uint8Array(rows * width);
    cells[1 * width + BUCKETS + 7] = 2 | ASLEEP;
    covers[1 * width + BUCKETS + 7] = 99;
    cells[2 * width] = 1;
    const named = new DataView(new ArrayBuffer(24));
    const from = 10 * tileLength(3);
    named.setBigInt64(0, BigInt(from) + 5n, true);
    named.setBigInt64(8, BigInt(from) + BigInt(tileLength(3)) + 9n, true);
    named.setUint32(16, 2, true);
    named.setUint32(20, 1, true);
    const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");
    const bytes = new Uint8Array([...new Uint8Array(cells.buffer), ...covers]);
    const found = unpack(asked, {
      run: "r",
      scale: 3,
      first: 10,
      tiles,
      lanes: 2,
      cells: base64(bytes),
      named: base64(new Uint8Array(named.buffer)),
      functions: [70, 80],
      unknown: [],
    });
    expect([...found.keys()]).toEqual([
      keyOf({ strand: 4, depths: 2 }, 3, 10),
      keyOf({ strand: 4, depths: 2 }, 3, 11),
      keyOf({ strand: 5 }, 3, 10),
      keyOf({ strand: 5 }, 3, 11),
    ]);
    const right = found.get(keyOf({ strand: 4, depths: 2 }, 3, 11));
    expect(right?.cells[BUCKETS + 7]).toBe(2 | ASLEEP);
    expect(right?.covers[BUCKETS + 7]).toBe(99);
    expect(right?.cells.filter(Boolean)).toHaveLength(1);
    // A bar over two tiles is in both, so that its name is seen from either.
    for (const number of [10, 11]) {
      const bars = found.get(keyOf({ strand: 5 }, 3, number))?.named;
      expect(bars).toEqual([{ from: from + 5, to: from + tileLength(3) + 9, row: 0, site: 70, asleep: false }]);
    }
    expect(found.get(keyOf({ strand: 4, depths: 2 }, 3, 10))?.named).toEqual([]);
  });

  test("cache drops the least recently used tile", () => {
    const kept = new TileCache<number>(2);
    kept.set("a", 1);
    kept.set("b", 2);
    kept.get("a");
    kept.set("c", 3);
    expect([kept.has("a"), kept.has("b"), kept.has("c")]).toEqual([true, false, true]);
  });
});

test("hueOf is stable per function and uses all colours about equally", () => {
  const used = new Map<number, number>();
  for (let at = 0; at < 3200; at += 1) {
    const hue = hueOf(`package.module:Class.method_${at}`);
    used.set(hue, (used.get(hue) ?? 0) + 1);
  }
  expect(used.size).toBe(HUES * SHADES);
  expect(Math.min(...used.values())).toBeGreaterThan(120);
  expect(hueOf("chunkstore.client:Client.write")).toBe(hueOf("chunkstore.client:Client.write"));
  expect([inkOn([255, 255, 255]), inkOn([0, 0, 40])]).toEqual(["#000", "#fff"]);
});

describe("timeline sentences", () => {
  const call: TimelineCall = {
    strand: 0,
    depth: 1,
    event: 12_345,
    resumed: true,
    label: "app.shop:Stock.lookup",
    fromNs: 1.5e9,
    toNs: 1.5e9 + 1.25e6,
    selfNs: 2.5e5,
    process: "server",
    strandName: "MainThread",
    location: null,
  };

  test("callSentence has times, place and event", () => {
    expect(callSentence(call).replaceAll("\u2009", " ")).toBe(
      "Stock.lookup continued · 1.25 ms, self time 250 µs · at 1.500 000 000 s · MainThread of server · event 12,345",
    );
  });

  test("summary describes the visible span", () => {
    const some = result([strand(0, 0, 3), strand(7, 0, 1)]);
    const said = summary(some, { from: 0, to: 5e8 }, lanes(some, foldedAtFirst(some, false)));
    expect(said).toContain("500 ms of a run of 1 s");
    expect(said).toContain("2 threads and tasks shown");
    expect(said).toContain("Busiest: thread 7 70 %, thread 0 0 %.");
  });

  test("leftOut counts hidden strands and gaps", () => {
    expect(leftOut(result([]))).toBe("");
    expect(leftOut(result([], { hiddenStrands: 2556, hiddenGaps: 3 }))).toBe(
      "2,556 more threads and tasks, with the fewest events; 3 more intervals with missing events",
    );
  });

  test("intervalQuestion pads the interval and rounds to nanoseconds", () => {
    expect(intervalQuestion("r", 1e6 + 0.5, 2e6)).toEqual({ run: "r", fromNs: 900_000, toNs: 2_100_000 });
    expect(intervalQuestion("r", 0, 10)).toEqual({ run: "r", fromNs: 0, toNs: 1010 });
  });

  test("matchingFunctions finds functions by any part of their names", () => {
    const functions = [
      { site: 3, label: "app:read", location: null },
      { site: 9, label: "app:Write.all", location: null },
    ];
    expect([...matchingFunctions(functions, " WRITE ")]).toEqual([9]);
    expect([...matchingFunctions(functions, "")]).toEqual([3, 9]);
  });
});
