/**
 * The timeline of a report: tiles, arrows and calls from the data in the page.
 *
 * Invariant: a tile has the bytes that the server gave when the report was written, row by row; compressed data is decompressed once.
 */
import type {
  Method,
  TimelineArrowsParams,
  TimelineArrowsResult,
  TimelineCall,
  TimelineCallParams,
  TimelineCallResult,
  TimelineSearchParams,
  TimelineSearchResult,
  TimelineTileParams,
  TimelineTileResult,
} from "../../../shared/protocol";
import { fromBase64, toBase64 } from "./tiles/base64";
import { thousands } from "../../ui/text/format";
import { BUCKETS, tileLength } from "./tiles/tiles";

interface ReportScale {
  scale: number;
  /** The first tile, and how many there are of each row. */
  first: number;
  tiles: number;
  /** Process, strand and depth of each row; -1 for a process where it is a strand's, and the other way round. */
  rows: readonly (readonly [number, number, number])[];
  /** Base64 of deflated bytes: of all rows 16 bits per bucket, then 8, then bars as in a tile's answer. */
  cells: string;
  covers: string;
  named: string;
}

export interface ReportTimeline {
  /** Sites, by what is in the cells. */
  functions: readonly number[];
  scales: readonly ReportScale[];
  arrows: TimelineArrowsResult;
  calls: readonly TimelineCall[];
  allCalls: number;
}

interface Unpacked {
  first: number;
  width: number;
  rows: ReadonlyMap<string, number>;
  cells: Uint16Array;
  covers: Uint8Array;
  named: Uint8Array;
}

const NAMED_BYTES = 24;
const ROW_AT = 16;

export class TimelineAnswers {
  private readonly unpacked = new Map<number, Promise<Unpacked>>();

  constructor(private readonly data: ReportTimeline) {}

  /** Undefined for what is no question of a timeline's, or has no answer here. */
  answer(method: Method, params: object): unknown {
    switch (method) {
      case "clew/timelineTile":
        return this.tile(params as TimelineTileParams);
      case "clew/timelineArrows":
        return this.arrows(params as TimelineArrowsParams);
      case "clew/timelineCall":
        return this.call(params as TimelineCallParams);
      case "clew/timelineSearch":
        return this.search(params as TimelineSearchParams);
      default:
        return undefined;
    }
  }

  private tile(asked: TimelineTileParams): Promise<TimelineTileResult> | undefined {
    const found = this.data.scales.find((one) => one.scale === asked.scale);
    if (!found) return undefined;
    const known = this.unpacked.get(asked.scale) ?? unpack(found);
    this.unpacked.set(asked.scale, known);
    return known.then((scale) => cut(scale, asked, this.data.functions));
  }

  private arrows({ strands, fromNs, toNs, most = 200 }: TimelineArrowsParams): TimelineArrowsResult {
    const shown = new Set(strands);
    const seen = this.data.arrows.arrows.filter(
      (one) =>
        shown.has(one.sourceStrand) &&
        shown.has(one.targetStrand) &&
        Math.max(one.sourceNs, one.targetNs) >= fromNs &&
        Math.min(one.sourceNs, one.targetNs) <= toNs,
    );
    return { arrows: seen.slice(0, most), hidden: Math.max(0, seen.length - most) + this.data.arrows.hidden };
  }

  /** Only among the calls that are there, which it says. */
  private search({ text, by = 0, ns = -1, event = -1 }: TimelineSearchParams): TimelineSearchResult {
    const { calls, allCalls } = this.data;
    const found = calls
      .filter((one) => !one.resumed && one.label.toLowerCase().includes(text.toLowerCase()))
      .sort((one, other) => one.fromNs - other.fromNs || one.event - other.event);
    const isAfter = (one: TimelineCall): boolean => one.fromNs > ns || (one.fromNs === ns && one.event > event);
    const next = found.findIndex(isAfter);
    const previous = found.findLastIndex((one) => !isAfter(one) && one.event !== event);
    const at = by === 1 ? Math.max(0, next) : previous < 0 ? found.length - 1 : previous;
    const call = by === 0 ? undefined : found[at];
    return {
      run: "",
      functions: new Set(found.map((one) => one.label)).size,
      calls: found.length,
      logs: 0,
      match: call ? { place: at + 1, ns: call.fromNs, event: call.event, strand: call.strand, call, text: "" } : null,
      message: calls.length < allCalls ? `of the ${thousands(calls.length)} longest` : "",
    };
  }

  private call({ strand, depth, ns, slackNs = 0, move = "at" }: TimelineCallParams): TimelineCallResult {
    const row = (at: number): TimelineCall[] =>
      this.data.calls
        .filter((one) => one.strand === strand && one.depth === at)
        .sort((one, other) => one.fromNs - other.fromNs);
    const own = row(depth);
    const near = own.filter((one) => one.fromNs <= ns + slackNs && one.toNs > ns - slackNs);
    const here = near.sort((one, other) => other.toNs - other.fromNs - (one.toNs - one.fromNs))[0];
    const call = {
      at: () => here,
      next: () => own.find((one) => one.fromNs > ns),
      previous: () => own.findLast((one) => one.toNs <= ns),
      into: () => here && row(depth + 1).find((one) => one.fromNs >= here.fromNs && one.toNs <= here.toNs),
      out: () => row(depth - 1).find((one) => one.fromNs <= ns && one.toNs > ns),
    }[move]();
    return { call: call ?? null };
  }
}

async function unpack(scale: ReportScale): Promise<Unpacked> {
  const [cells, covers, named] = await Promise.all([scale.cells, scale.covers, scale.named].map(inflated));
  return {
    first: scale.first,
    width: BUCKETS * scale.tiles,
    rows: new Map(scale.rows.map((row, at) => [row.join("/"), at])),
    cells: new Uint16Array((cells ?? new Uint8Array()).buffer),
    covers: covers ?? new Uint8Array(),
    named: named ?? new Uint8Array(),
  };
}

async function inflated(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const packed = new Blob([fromBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(packed).arrayBuffer());
}

/** An answer for some lanes and tiles; the part outside of the run is empty. */
function cut(from: Unpacked, asked: TimelineTileParams, functions: readonly number[]): TimelineTileResult {
  const { lanes, scale, first, tiles = 1 } = asked;
  const width = BUCKETS * tiles;
  const rows = lanes.flatMap(({ process = -1, strand = -1, depth = 0, depths = 1 }) =>
    Array.from({ length: depths }, (_, at) => from.rows.get([process, strand, depth + at].join("/"))),
  );
  const bytes = new Uint8Array(3 * rows.length * width);
  const cells = new Uint16Array(bytes.buffer, 0, rows.length * width);
  const covers = bytes.subarray(2 * rows.length * width);
  const shift = (first - from.first) * BUCKETS;
  const low = Math.max(0, shift);
  const high = Math.min(from.width, shift + width);
  const places = new Map<number, number>();
  rows.forEach((row, at) => {
    if (row === undefined) return;
    places.set(row, at);
    if (high <= low) return;
    const to = at * width + low - shift;
    cells.set(from.cells.subarray(row * from.width + low, row * from.width + high), to);
    covers.set(from.covers.subarray(row * from.width + low, row * from.width + high), to);
  });
  const begin = first * tileLength(scale);
  const named = cutNamed(from.named, places, begin, begin + tiles * tileLength(scale));
  return {
    run: asked.run,
    scale,
    first,
    tiles,
    lanes: lanes.length,
    cells: toBase64(bytes),
    named: toBase64(named),
    functions: [...functions],
    unknown: [],
  };
}

/** The bars of some rows in an interval, with the new positions of the rows. */
function cutNamed(all: Uint8Array, places: ReadonlyMap<number, number>, begin: number, end: number): Uint8Array {
  const view = new DataView(all.buffer, all.byteOffset, all.byteLength);
  const found: Uint8Array[] = [];
  for (let at = 0; at + NAMED_BYTES <= all.length; at += NAMED_BYTES) {
    const place = places.get(view.getUint32(at + ROW_AT, true));
    const [from, to] = [Number(view.getBigInt64(at, true)), Number(view.getBigInt64(at + 8, true))];
    if (place === undefined || to <= begin || from >= end) continue;
    const bar = all.slice(at, at + NAMED_BYTES);
    new DataView(bar.buffer).setUint32(ROW_AT, place, true);
    found.push(bar);
  }
  const joined = new Uint8Array(found.length * NAMED_BYTES);
  found.forEach((bar, at) => {
    joined.set(bar, at * NAMED_BYTES);
  });
  return joined;
}
