/**
 * The tiles of a time span: which ones are needed, which are cached, and the decoding of the server's bytes.
 *
 * Invariant: lane, scale and number identify a tile, so a painted tile is used again at every visit. Narrower or wider tiles replace a
 * missing one.
 */
import type { TimelineLane, TimelineTileResult } from "../../../../shared/protocol";
import { fromBase64 } from "./base64";
import type { Span } from "../../../ui/timeSpan";

/** Buckets of a tile, as the server counts. */
export const BUCKETS = 512;
export const ASLEEP = 0x8000;
/** Cells of an answer at most, as the server has it. */
export const MOST_CELLS = 110_000;
const MOST_SCALE = 50;

/** A bar that is wide enough for a name. */
export interface NamedBar {
  from: number;
  to: number;
  row: number;
  site: number;
  asleep: boolean;
}

export interface Tile {
  rows: number;
  /** Row by row: 1 + the place of a function in `sites`, with `ASLEEP`; 0 for nothing. */
  cells: Uint16Array;
  covers: Uint8Array;
  sites: readonly number[];
  named: readonly NamedBar[];
}

/** The scale at which a bucket is about as wide as a device's pixel. */
export function scaleFor(nsPerPixel: number): number {
  return Math.min(Math.max(Math.round(Math.log2(Math.max(nsPerPixel, 1e-9))), 0), MOST_SCALE);
}

/** Of the scales that there are tiles of, the nearest, the finer of two; where all are, the scale itself. */
export function nearestScale(scale: number, there: readonly number[]): number {
  const [best] = [...there].sort((a, b) => Math.abs(a - scale) - Math.abs(b - scale) || a - b);
  return best ?? scale;
}

export function tileLength(scale: number): number {
  return BUCKETS * 2 ** scale;
}

/** The first tile of an interval and the number of tiles. */
export function tilesFor(span: Span, scale: number): { first: number; count: number } {
  const length = tileLength(scale);
  const first = Math.floor(span.from / length);
  return { first, count: Math.max(1, Math.ceil(span.to / length) - first) };
}

export function keyOf(lane: TimelineLane, scale: number, number: number): string {
  return `${lane.process ?? -1}/${lane.strand ?? -1}/${lane.depth ?? 0}+${lane.depths ?? 1}/${scale}/${number}`;
}

/** So many lanes from the first one on go into one request. */
export function batch(lanes: readonly TimelineLane[], tiles: number): TimelineLane[] {
  const found: TimelineLane[] = [];
  let cells = 0;
  for (const lane of lanes) {
    cells += (lane.depths ?? 1) * tiles * BUCKETS;
    if (found.length > 0 && cells > MOST_CELLS) break;
    found.push(lane);
  }
  return found;
}

/** An answer taken apart, by the keys of its tiles. */
export function unpack(asked: readonly TimelineLane[], answer: TimelineTileResult): Map<string, Tile> {
  const found = new Map<string, Tile>();
  const lanes = asked.slice(0, answer.lanes);
  const rows = lanes.reduce((sum, lane) => sum + (lane.depths ?? 1), 0);
  const width = BUCKETS * answer.tiles;
  const bytes = fromBase64(answer.cells);
  const cells = new Uint16Array(bytes.buffer, 0, rows * width);
  const covers = bytes.subarray(2 * rows * width);
  const named = namedBars(answer);
  let row = 0;
  for (const lane of lanes) {
    const depths = lane.depths ?? 1;
    const own = named.filter((bar) => bar.row >= row && bar.row < row + depths);
    for (let number = 0; number < answer.tiles; number += 1) {
      const tile: Tile = {
        rows: depths,
        cells: new Uint16Array(depths * BUCKETS),
        covers: new Uint8Array(depths * BUCKETS),
        sites: answer.functions,
        named: [],
      };
      for (let depth = 0; depth < depths; depth += 1) {
        const start = (row + depth) * width + number * BUCKETS;
        tile.cells.set(cells.subarray(start, start + BUCKETS), depth * BUCKETS);
        tile.covers.set(covers.subarray(start, start + BUCKETS), depth * BUCKETS);
      }
      const length = tileLength(answer.scale);
      const from = (answer.first + number) * length;
      const here = own.filter((bar) => bar.from < from + length && bar.to > from);
      found.set(keyOf(lane, answer.scale, answer.first + number), {
        ...tile,
        named: here.map((bar) => ({ ...bar, row: bar.row - row })),
      });
    }
    row += depths;
  }
  return found;
}

function namedBars({ named, functions }: TimelineTileResult): NamedBar[] {
  const bytes = fromBase64(named);
  const view = new DataView(bytes.buffer);
  const found: NamedBar[] = [];
  for (let at = 0; at + 24 <= bytes.length; at += 24) {
    const cell = view.getUint32(at + 20, true);
    found.push({
      from: Number(view.getBigInt64(at, true)),
      to: Number(view.getBigInt64(at + 8, true)),
      row: view.getUint32(at + 16, true),
      site: functions[(cell & ~ASLEEP) - 1] ?? 0,
      asleep: (cell & ASLEEP) !== 0,
    });
  }
  return found;
}

/** Drops the least recently used tiles first. */
export class TileCache<T> {
  private readonly entries = new Map<string, T>();

  constructor(private readonly most: number) {}

  get(key: string): T | undefined {
    const found = this.entries.get(key);
    if (found !== undefined) {
      this.entries.delete(key);
      this.entries.set(key, found);
    }
    return found;
  }

  has(key: string): boolean {
    return this.entries.has(key);
  }

  set(key: string, value: T): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.most) break;
      this.entries.delete(oldest);
    }
  }

  clear(): void {
    this.entries.clear();
  }
}
