/**
 * Communications on a layer of their own that fades: only what is new is painted in a frame.
 *
 * Invariant: after `paint` the layer shows what the activity says; what is added later fades as that does.
 */
import { type Activity, FADE_MS, FAINT, type Talk, widthOf } from "../../model/entities/activity";
import { ends } from "./paint";
import type { Frame, Pen } from "./module";

/** Between two fadings, in ms: a layer of bytes cannot fade in smaller steps. */
const PART_MS = 80;
const GONE = 6;

export class Trails {
  private waiting = 0;
  private quiet = 0;

  /** Fades what is there by the time that passed. */
  fade(pen: CanvasRenderingContext2D, width: number, height: number, ms: number): void {
    this.waiting += ms;
    this.quiet += ms;
    if (this.waiting < PART_MS) return;
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

  add(pen: Pen, frame: Frame, talks: readonly Talk[], activity: Activity): void {
    if (talks.length > 0) this.quiet = 0;
    paintTalks(
      pen,
      frame,
      talks,
      (talk) => activity.lately(talk),
      () => 1,
    );
  }

  /** All of it anew, on an empty layer. */
  paint(pen: Pen, frame: Frame, activity: Activity): void {
    [this.waiting, this.quiet] = [0, 0];
    const shown: Talk[] = [];
    for (const talk of frame.talks) if (activity.seen(talk) > FAINT) shown.push(talk);
    paintTalks(
      pen,
      frame,
      shown,
      (talk) => activity.lately(talk),
      (talk) => activity.seen(talk),
    );
  }
}

/** Those alike in one stroke. */
function paintTalks(
  pen: Pen,
  frame: Frame,
  talks: readonly Talk[],
  lately: (talk: Talk) => number,
  seen: (talk: Talk) => number,
): void {
  const alike = new Map<number, Talk[]>();
  for (const talk of talks) {
    const key = Math.round(widthOf(lately(talk)) * 2) * 16 + Math.round(seen(talk) * 10);
    const list = alike.get(key);
    if (list) list.push(talk);
    else alike.set(key, [talk]);
  }
  pen.strokeStyle = frame.colours.line;
  pen.lineCap = "round";
  for (const [key, list] of alike) {
    pen.lineWidth = Math.floor(key / 16) / 2;
    pen.globalAlpha = Math.min(1, (key % 16) / 10) * 0.85;
    pen.beginPath();
    for (const { source, target } of list) {
      const [a, b] = [frame.byId.get(source), frame.byId.get(target)];
      if (!a || !b) continue;
      const [x, y, toX, toY] = ends(a, b);
      pen.moveTo(x, y);
      pen.lineTo(toX, toY);
    }
    pen.stroke();
  }
  pen.globalAlpha = 1;
}
