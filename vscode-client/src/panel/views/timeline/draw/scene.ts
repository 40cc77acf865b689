/**
 * The input of a frame of the timeline, and helpers that its drawings share.
 *
 * Invariant: a frame depends only on its scene.
 */
import type { TimelineArrow, TimelineGap, TimelineLane, TimelineStrand } from "../../../../shared/protocol";
import { type Lane, ROW } from "./lanes";
import type { Span } from "../../../ui/timeSpan";
import type { Tile } from "../tiles/tiles";
import type { Names } from "../tiles/bitmaps";
import type { ThemeColours } from "../../../ui/canvas/themeColours";
import type { TimelinePen } from "../../../ui/canvas/pen";

export const AXIS = 24;
export const FONT = "11px";

export interface Box {
  strand: number;
  depth: number;
  from: number;
  to: number;
}

export interface Scene {
  span: Span;
  lanes: readonly Lane[];
  strands: ReadonlyMap<number, TimelineStrand>;
  /** What is scrolled away above. */
  top: number;
  width: number;
  height: number;
  gutter: number;
  scale: number;
  colours: ThemeColours;
  names: Names;
  arrows: readonly TimelineArrow[];
  gaps: readonly TimelineGap[];
  selected: Box | undefined;
  hovered: Box | undefined;
  brush: Span | undefined;
  focused: boolean;
  tile(lane: TimelineLane, scale: number, number: number): Tile | undefined;
  picture(lane: TimelineLane, scale: number, number: number): HTMLCanvasElement | undefined;
}

/** What is asked of the server for a lane: rows in blocks, so that a deep strand is not asked for as a whole. */
export const BLOCK = 16;

export function lanesToRequest(lane: Lane): TimelineLane[] {
  if (lane.kind === "process") return lane.folded ? [{ process: lane.process.process }] : [];
  const found: TimelineLane[] = [];
  for (let depth = 0; depth < lane.rows; depth += BLOCK) {
    found.push({ strand: lane.strand.strand, depth, depths: Math.min(BLOCK, lane.rows - depth) });
  }
  return found;
}

/** Is any row of a block in the part that is not scrolled away? */
export function isSeen(lane: Lane, depth: number, scene: Scene): boolean {
  const top = lane.top + depth * ROW;
  return lane.kind === "process" || (top < scene.top + scene.height && top + BLOCK * ROW > scene.top);
}

const widths = new Map<string, number>();

/** As much of a text as has room. */
export function fitted(context: TimelinePen, text: string, room: number): string {
  const width = widthOf(context, text);
  if (width <= room) return text;
  for (let keep = Math.floor((room / width) * text.length) - 1; keep > 1; keep -= 1) {
    const cut = `${text.slice(0, keep)}…`;
    if (widthOf(context, cut) <= room) return cut;
  }
  return "";
}

function widthOf(context: TimelinePen, text: string): number {
  let width = widths.get(text);
  if (width === undefined) {
    width = context.measureText(text).width;
    if (widths.size > 5000) widths.clear();
    widths.set(text, width);
  }
  return width;
}
