/**
 * What a frame of the timeline is drawn of, and what its drawings have in common.
 *
 * Invariant: a scene is all that a frame depends on.
 */
import type { TimelineArrow, TimelineGap, TimelineLane, TimelineStrand } from "../../shared/protocol";
import type { Rgb } from "../model/hue";
import { type Lane, ROW } from "../model/lanes";
import type { Span } from "../model/span";
import type { Tile } from "../model/tiles";
import type { Colours, Names } from "./tiles";
import type { TimelinePen } from "./pen";

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
  colours: Colours;
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

export function asked(lane: Lane): TimelineLane[] {
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

let font = "";

/** The editor's font, which a canvas does not inherit. */
export function fontFamily(): string {
  font ||= getComputedStyle(document.body).fontFamily || "sans-serif";
  return font;
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

export function css([r, g, b]: Rgb): string {
  return `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;
}
