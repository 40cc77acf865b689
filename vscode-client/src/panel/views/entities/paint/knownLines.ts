/**
 * All lines, used recently or not, as a separate picture. Many lines are painted in small portions, so that no frame waits.
 *
 * Invariant: the picture is always complete, and a picture that shows the last change follows that change.
 */
import type { Talk } from "../model/activity";
import { paintKnown } from "./shapes";
import type { Frame } from "../drawings/contract";

/** Lines for which there is time in each frame. */
export const EACH_FRAME = 500;
/** From one picture to the next while entities move, in ms, where they are more than that. */
const PAUSE_MS = 120;

export class KnownLines {
  private shown: HTMLCanvasElement | undefined;
  private making: { canvas: HTMLCanvasElement; left: Talk[]; count: number } | undefined;
  private spare: HTMLCanvasElement | undefined;
  private old = true;
  private atOnce = true;
  private begun = -Infinity;

  /** Entities moved, or there are more lines. */
  change(): void {
    this.old = true;
  }

  /** The picture is of another place or in other colours: it is of no use until the next one is there. */
  forget(): void {
    [this.old, this.atOnce, this.making] = [true, true, undefined];
  }

  /** Is there more to be painted? */
  get isLate(): boolean {
    return this.old || this.making !== undefined;
  }

  /** Paints as much as there is time for, on a canvas like the one that is given, nothing that can wait where `isFull`; is there another picture now? */
  paint(frame: Frame, like: HTMLCanvasElement, now: number, isFull = false): boolean {
    if (isFull && !this.atOnce) return false;
    if (!this.making && this.old) this.begin(frame, like, now);
    const { making } = this;
    const pen = making?.canvas.getContext("2d");
    if (!making || !pen) return false;
    const bit = making.left.splice(0, this.atOnce ? Infinity : EACH_FRAME);
    paintKnown(pen, frame, bit, making.count);
    if (making.left.length > 0) return false;
    [this.spare, this.shown, this.making, this.atOnce] = [this.shown, making.canvas, undefined, false];
    return true;
  }

  /** Puts the picture onto what lies below the entities. */
  put(pen: CanvasRenderingContext2D, { width, height }: Frame): void {
    if (this.shown && this.shown.width > 0 && this.shown.height > 0) pen.drawImage(this.shown, 0, 0, width, height);
  }

  private begin(frame: Frame, like: HTMLCanvasElement, now: number): void {
    const left = [...frame.talks].filter(({ source, target }) => frame.byId.has(source) && frame.byId.has(target));
    if (!this.atOnce && left.length > EACH_FRAME && now - this.begun < PAUSE_MS) return;
    this.old = false;
    this.begun = now;
    const canvas = this.spare ?? document.createElement("canvas");
    // This empties it, too.
    [canvas.width, canvas.height] = [like.width, like.height];
    canvas.getContext("2d")?.scale(like.width / Math.max(1, frame.width), like.height / Math.max(1, frame.height));
    this.making = { canvas, left, count: left.length };
  }
}
