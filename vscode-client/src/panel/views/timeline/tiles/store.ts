/**
 * The tiles of a timeline and the loading of missing ones: visible tiles first, then their neighbours.
 *
 * Invariant: at most `AT_ONCE` requests are pending, each for tiles that are visible when it is sent. Answers for another run or another
 * visible part are dropped.
 */
import type { TimelineFunction, TimelineLane } from "../../../../shared/protocol";
import { bitmapOf, type Names } from "./bitmaps";
import { type ThemeColours } from "../../../ui/canvas/themeColours";
import { batch, TileCache, keyOf, type Tile, tilesFor, unpack } from "./tiles";
import type { Span } from "../../../ui/timeSpan";
import type { Context } from "../../contract";

const AT_ONCE = 2;
/** Number of cached tiles: a thousand take about 10 MB. */
const KEPT = 1200;

interface Painted {
  tile: Tile;
  picture: HTMLCanvasElement | undefined;
  look: number;
}

export interface WantedTiles {
  lanes: readonly TimelineLane[];
  span: Span;
  scale: number;
  /** What is needed when one goes a step farther. */
  farther: number;
}

export class TileStore {
  private readonly tiles = new TileCache<Painted>(KEPT);
  private readonly coming = new Set<string>();
  private wanted: WantedTiles | undefined;
  private run = "";
  private under = 0;
  private look = 0;
  /** Requests that failed are not made again and again. */
  private failed = false;

  constructor(
    private readonly context: Pick<Context, "quietly">,
    private readonly arrived: (unknown: readonly TimelineFunction[]) => void,
    private readonly complain: (error: unknown) => void,
  ) {}

  begin(run: string): void {
    this.run = run;
    this.tiles.clear();
    this.coming.clear();
    this.failed = false;
  }

  /** ThemeColours or what is searched for are others now. */
  repaint(): void {
    this.look += 1;
  }

  tile(lane: TimelineLane, scale: number, number: number): Tile | undefined {
    return this.tiles.get(keyOf(lane, scale, number))?.tile;
  }

  picture(key: string, colours: ThemeColours, names: Names): HTMLCanvasElement | undefined {
    const found = this.tiles.get(key);
    if (!found) return undefined;
    if (!found.picture || found.look !== this.look) {
      found.picture = bitmapOf(found.tile, colours, names);
      found.look = this.look;
    }
    return found.picture;
  }

  want(wanted: WantedTiles): void {
    this.wanted = wanted;
    this.next();
  }

  /** Is all there that is seen? */
  isWhole(wanted: WantedTiles): boolean {
    const { first, count } = tilesFor(wanted.span, wanted.scale);
    return wanted.lanes.every((lane) => this.missing(lane, wanted.scale, first, count).length === 0);
  }

  private next(): void {
    const { wanted } = this;
    if (!wanted || this.failed || this.run === "") return;
    const { first, count } = tilesFor(wanted.span, wanted.scale);
    // What is seen, what comes next to both sides, and one step closer and farther.
    this.ask(wanted.lanes, wanted.scale, first, count);
    if (this.under > 0) return;
    this.ask(wanted.lanes, wanted.scale, first + count, 1);
    this.ask(wanted.lanes, wanted.scale, first - 1, 1);
    const farther = tilesFor(wanted.span, wanted.farther);
    this.ask(wanted.lanes, wanted.farther, farther.first, farther.count);
  }

  private missing(lane: TimelineLane, scale: number, first: number, count: number): number[] {
    return Array.from({ length: count }, (_, at) => first + at).filter(
      (number) => !this.tiles.has(keyOf(lane, scale, number)),
    );
  }

  /** Asks for tiles side by side of all lanes that lack one of them. */
  private ask(lanes: readonly TimelineLane[], scale: number, first: number, count: number): void {
    let lacking = lanes.filter((lane) => this.lacks(lane, scale, first, count));
    while (lacking.length > 0 && this.under < AT_ONCE) {
      const [leftmost, rightmost] = this.ends(lacking, scale, first, count);
      const tiles = rightmost - leftmost + 1;
      const some = batch(lacking, tiles);
      lacking = lacking.slice(some.length);
      void this.fetch(some, scale, leftmost, tiles);
    }
  }

  private lacks(lane: TimelineLane, scale: number, first: number, count: number): boolean {
    return this.missing(lane, scale, first, count).some((number) => !this.coming.has(keyOf(lane, scale, number)));
  }

  private ends(lanes: readonly TimelineLane[], scale: number, first: number, count: number): [number, number] {
    const numbers = lanes.flatMap((lane) => this.missing(lane, scale, first, count));
    return [Math.min(...numbers), Math.max(...numbers)];
  }

  private async fetch(lanes: TimelineLane[], scale: number, first: number, tiles: number): Promise<void> {
    const { run } = this;
    const keys = lanes.flatMap((lane) => Array.from({ length: tiles }, (_, at) => keyOf(lane, scale, first + at)));
    for (const key of keys) this.coming.add(key);
    this.under += 1;
    try {
      const answer = await this.context.quietly("clew/timelineTile", { run, lanes, scale, first, tiles });
      if (run !== this.run) return;
      for (const [key, tile] of unpack(lanes, answer)) {
        this.tiles.set(key, { tile, picture: undefined, look: -1 });
      }
      this.arrived(answer.unknown);
    } catch (error) {
      if (run === this.run) {
        this.failed = true;
        this.complain(error);
      }
    } finally {
      for (const key of keys) this.coming.delete(key);
      this.under -= 1;
      if (run === this.run) this.next();
    }
  }
}
