/**
 * Communication on a separate layer that fades: a frame paints only new lines, and spreads very many lines over several frames.
 *
 * Invariant: after `paint` the layer shows the activity. Later communication appears within half a second and fades with the activity.
 */
import { type Activity, FADE_MS, FAINT, type Talk, widthOf } from "../model/activity";
import { shareOf, tracedLine } from "./shapes";
import type { Pen } from "../../../ui/canvas/pen";
import type { Frame } from "../drawings/contract";

/** Between two fadings, in ms: a layer of bytes cannot fade in smaller steps. */
const PART_MS = 80;
const GONE = 6;
/** Lines for which there is time in each frame that is not full; of more than that in `SPREAD` of them, frames have more. */
const EACH_FRAME = 160;
const SPREAD = 26;
/** Of the faintest and thinnest of very many lines, in px. */
const LEAST_ALPHA = 0.3;
const LEAST_WIDTH = 0.75;

export class FadingLines {
  private waiting = 0;
  private quiet = 0;
  private readonly fresh = new Set<Talk>();
  private each = EACH_FRAME;
  /** About how many lines are visible, faint ones counting less. */
  private seen = 0;

  /** Fades what is there by the time that passed. */
  fade(pen: CanvasRenderingContext2D, width: number, height: number, ms: number): void {
    this.waiting += ms;
    this.quiet += ms;
    if (this.waiting < PART_MS) return;
    this.seen *= Math.exp(-this.waiting / FADE_MS);
    if (this.quiet > GONE * FADE_MS) pen.clearRect(0, 0, width, height);
    else {
      pen.globalCompositeOperation = "destination-out";
      pen.globalAlpha = 1 - Math.exp(-this.waiting / FADE_MS);
      pen.fillStyle = "#000";
      pen.fillRect(0, 0, width, height);
      pen.globalCompositeOperation = "source-over";
      pen.globalAlpha = 1;
    }
    this.waiting = 0;
  }

  /** What was used just now, to be painted soon. */
  add(talks: readonly Talk[]): void {
    for (const talk of talks) this.fresh.add(talk);
    this.each = Math.max(EACH_FRAME, Math.ceil(this.fresh.size / SPREAD));
  }

  /** Paints what was added, as much as there is time for, which is none where `isFull`; is that all of it? */
  paintNew(pen: Pen, frame: Frame, activity: Activity, isFull = false): boolean {
    if (this.fresh.size > 0) this.quiet = 0;
    const now = isFull ? [] : firstOf(this.fresh, this.each);
    for (const talk of now) this.fresh.delete(talk);
    this.seen = Math.min(activity.size, this.seen + now.length);
    paintTalks(pen, frame, now, activity, () => 1, shareOf(this.seen));
    return this.fresh.size === 0;
  }

  /** Repaints everything on an empty layer. */
  paint(pen: Pen, frame: Frame, activity: Activity): void {
    [this.waiting, this.quiet] = [0, 0];
    this.fresh.clear();
    const shown = [...frame.talks].filter((talk) => activity.seen(talk) > FAINT);
    this.seen = shown.reduce((sum, talk) => sum + activity.seen(talk), 0);
    paintTalks(pen, frame, shown, activity, (talk) => activity.seen(talk), shareOf(this.seen));
  }
}

function firstOf<T>(all: ReadonlySet<T>, most: number): T[] {
  const found: T[] = [];
  for (const one of all) {
    if (found.length === most) break;
    found.push(one);
  }
  return found;
}

/** Each by a stroke of its own: one path of many that cross takes a browser longer. `share`: how wide and strong the widest are. */
function paintTalks(
  pen: Pen,
  frame: Frame,
  talks: readonly Talk[],
  activity: Activity,
  seen: (talk: Talk) => number,
  share: number,
): void {
  pen.strokeStyle = frame.colours.line;
  pen.lineCap = "butt";
  for (const talk of talks) {
    pen.beginPath();
    if (!tracedLine(pen, frame, talk)) continue;
    pen.lineWidth = Math.max(LEAST_WIDTH, Math.round(share * widthOf(activity.lately(talk)) * 2) / 2);
    pen.globalAlpha = Math.min(1, seen(talk)) * Math.max(LEAST_ALPHA, 0.85 * share);
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
