/** The timeline of a report: its answers equal those of the server. */
import { deflateSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { TimelineAnswers, type ReportTimeline } from "../../../../src/panel/views/timeline/report";
import { nearestScale, unpack, BUCKETS, keyOf } from "../../../../src/panel/views/timeline/tiles/tiles";
import type { TimelineCall, TimelineSearchResult, TimelineTileResult } from "../../../../src/shared/protocol";

const packed = (bytes: Uint8Array): string => deflateSync(bytes).toString("base64");

/** Two rows of three tiles, from tile 2 on; bucket b of row r has the cell r * 2000 + b. */
const cells = Uint16Array.from({ length: 2 * 3 * BUCKETS }, (_, at) => {
  const row = Math.floor(at / (3 * BUCKETS));
  return row * 2000 + (at % (3 * BUCKETS));
});
const covers = Uint8Array.from(cells, (cell) => cell % 251);
const bar = Buffer.alloc(24);
bar.writeBigInt64LE(BigInt(4 * BUCKETS * 16 - 100), 0);
bar.writeBigInt64LE(BigInt(4 * BUCKETS * 16 + 300), 8);
bar.writeUInt32LE(1, 16);
bar.writeUInt32LE(1, 20);

const call = (strand: number, depth: number, fromNs: number, toNs: number): TimelineCall => ({
  strand,
  depth,
  event: fromNs,
  resumed: false,
  label: `${depth}`,
  fromNs,
  toNs,
  selfNs: 0,
  process: "",
  strandName: "",
  location: null,
});

const DATA: ReportTimeline = {
  functions: [70, 80],
  scales: [
    {
      scale: 4,
      first: 2,
      tiles: 3,
      rows: [
        [-1, 5, 0],
        [-1, 5, 1],
      ],
      cells: packed(new Uint8Array(cells.buffer)),
      covers: packed(covers),
      named: packed(bar),
    },
  ],
  arrows: { arrows: [], hidden: 0 },
  calls: [call(5, 0, 10, 100), call(5, 1, 20, 30), call(5, 1, 40, 90), call(5, 0, 200, 210)],
  allCalls: 4,
};
const answers = new TimelineAnswers(DATA);

describe("report tiles", () => {
  test.each([2, 3, 4])("tile %i has the cells and bars of its interval", async (number) => {
    const lanes = [{ strand: 5, depth: 0, depths: 2 }];
    const result = (await answers.answer("clew/timelineTile", {
      run: "r",
      lanes,
      scale: 4,
      first: number,
    })) as TimelineTileResult;
    const tile = unpack(lanes, result).get(keyOf(lanes[0] ?? {}, 4, number));
    const begin = (number - 2) * BUCKETS;
    expect([...(tile?.cells ?? [])]).toEqual([
      ...cells.slice(begin, begin + BUCKETS),
      ...cells.slice(3 * BUCKETS + begin, 3 * BUCKETS + begin + BUCKETS),
    ]);
    expect(tile?.covers[7]).toBe(covers[begin + 7]);
    expect(tile?.named.map((one) => [one.row, one.site])).toEqual(number === 2 ? [] : [[1, 70]]);
  });

  test("outside of the run and of missing rows are empty", async () => {
    for (const [strand, first] of [
      [5, 1],
      [5, 9],
      [6, 2],
    ] as const) {
      const asked = { run: "r", lanes: [{ strand }], scale: 4, first };
      const result = (await answers.answer("clew/timelineTile", asked)) as TimelineTileResult;
      expect(Buffer.from(result.cells, "base64").every((byte) => byte === 0)).toBe(true);
    }
  });

  test("of another scale are undefined, and nearestScale is the nearest stored scale", () => {
    expect(answers.answer("clew/timelineTile", { run: "r", lanes: [], scale: 5, first: 0 })).toBeUndefined();
    expect([0, 4, 9, 13, 14, 30].map((scale) => nearestScale(scale, [14, 12, 8]))).toEqual([8, 8, 8, 12, 14, 14]);
    expect(nearestScale(5, [])).toBe(5);
  });
});

describe("report calls", () => {
  const at = (ns: number, depth: number, move: string, slackNs = 0): unknown => {
    const found = answers.answer("clew/timelineCall", { run: "r", strand: 5, depth, ns, slackNs, move });
    const { call: one } = found as { call: TimelineCall | null };
    return one && [one.fromNs, one.toNs];
  };

  test("are found by time, with some slack", () => {
    expect(at(25, 1, "at")).toEqual([20, 30]);
    expect(at(35, 1, "at")).toBeNull();
    expect(at(35, 1, "at", 8)).toEqual([40, 90]);
  });

  test("lead to their next, previous, outer and inner calls", () => {
    expect(at(10, 0, "next")).toEqual([200, 210]);
    expect(at(200, 0, "previous")).toEqual([10, 100]);
    expect(at(10, 0, "into")).toEqual([20, 30]);
    expect(at(40, 1, "out")).toEqual([10, 100]);
    expect(at(10, 0, "out")).toBeNull();
  });
});

describe("report search", () => {
  const search = (text: string, by: number, ns = -1, event = -1): unknown => {
    const found = answers.answer("clew/timelineSearch", { run: "r", text, by, ns, event }) as TimelineSearchResult;
    return [found.calls, found.match?.place, found.match?.ns];
  };

  test("steps through calls by time and wraps around", () => {
    expect(search("0", 0)).toEqual([2, undefined, undefined]);
    expect(search("0", 1)).toEqual([2, 1, 10]);
    expect(search("0", 1, 10, 10)).toEqual([2, 2, 200]);
    expect(search("0", 1, 200, 200)).toEqual([2, 1, 10]);
    expect(search("0", -1, 200, 200)).toEqual([2, 1, 10]);
    expect(search("0", -1, 10, 10)).toEqual([2, 2, 200]);
    expect(search("nothing", 1)).toEqual([0, undefined, undefined]);
  });
});
