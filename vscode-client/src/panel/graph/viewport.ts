/** Zoom and pan of one SVG with d3-zoom. Lengths in px of the drawing. */
import { select } from "d3-selection";
import { type D3ZoomEvent, zoom, zoomIdentity, type ZoomTransform, zoomTransform } from "d3-zoom";
import type { Point } from "./layout/types";

export interface Frame {
  x: number;
  y: number;
  width: number;
  height: number;
}

const MARGIN = 28;
/** What legend and controls cover at the bottom. */
const CONTROLS = 24;
/** What words cover in the upper left corner. */
const CORNER_WORDS = 16;
const READABLE = 0.55;
const COMFORTABLE = 0.8;
const SMALLEST = 0.04;
const LARGEST = 4;
/** Below this scale second lines are left out, and below that it is all shapes. */
const FAR = 0.5;

export class Viewport {
  /** Has the user moved it? Then a change of the window's size does not. */
  moved = false;
  private canvas: SVGSVGElement | undefined;
  private content: SVGGElement | undefined;
  private readonly behaviour = zoom<SVGSVGElement, unknown>()
    .scaleExtent([SMALLEST, LARGEST])
    .on("zoom", (event: D3ZoomEvent<SVGSVGElement, unknown>) => {
      if (event.sourceEvent) this.moved = true;
      this.apply(event.transform);
      this.changed(this);
    });

  /** `changed` runs after every change of the visible part. */
  constructor(private readonly changed: (viewport: Viewport) => void = () => undefined) {}

  attach(canvas: SVGSVGElement, content: SVGGElement): void {
    if (this.canvas === canvas && this.content === content) return;
    this.canvas = canvas;
    this.content = content;
    select(canvas).call(this.behaviour).on("dblclick.zoom", null);
  }

  get transform(): ZoomTransform {
    return this.canvas ? zoomTransform(this.canvas) : zoomIdentity;
  }

  /** Shows the same part as another viewport does. */
  take(transform: ZoomTransform): void {
    const now = this.transform;
    if (!this.canvas || (now.k === transform.k && now.x === transform.x && now.y === transform.y)) return;
    this.behaviour.transform(select(this.canvas), transform);
  }

  /** What is seen. */
  get seen(): Frame {
    const { width, height } = this.canvas?.getBoundingClientRect() ?? { width: 0, height: 0 };
    const { k, x, y } = this.transform;
    return { x: -x / k, y: -y / k, width: width / k, height: height / k };
  }

  /** Puts a point of the drawing into the middle, or to another place of the view, given in its px. */
  centre([x, y]: Point, at?: Point): void {
    if (!this.canvas) return;
    this.moved = true;
    const { width, height } = this.canvas.getBoundingClientRect();
    const [toX, toY] = at ?? [width / 2, height / 2];
    const { k } = this.transform;
    this.behaviour.transform(select(this.canvas), zoomIdentity.translate(toX - x * k, toY - y * k).scale(k));
  }

  zoomBy(factor: number): void {
    this.moved = true;
    if (this.canvas) this.behaviour.scaleBy(select(this.canvas), factor);
  }

  /** Shows the whole frame, no larger than life. */
  fit(frame: Frame): void {
    this.moved = false;
    this.show(frame, Math.min(1.15, this.scaleFor(frame)));
  }

  /** Shows the first of the frames that stays readable; else `anchor`, where in the view it is in the whole (`frames[0]`). */
  home(frames: readonly Frame[], anchor: Frame): void {
    this.moved = false;
    const readable = frames.find((frame) => frame.width > 0 && this.scaleFor(frame) >= READABLE);
    const [whole] = frames;
    if (readable) this.show(readable, Math.min(1.15, this.scaleFor(readable)));
    else if (whole) {
      const inside = (low: number, size: number, all: number): number =>
        Math.min(0.75, Math.max(0.25, (low + size / 2) / all));
      const at = {
        x: inside(anchor.x - whole.x, anchor.width, whole.width),
        y: inside(anchor.y - whole.y, anchor.height, whole.height),
      };
      this.show(anchor, COMFORTABLE, at);
    }
  }

  /** Moves just so far that the frame is seen. */
  reveal(frame: Frame): void {
    const canvas = this.canvas;
    if (!canvas) return;
    const { width, height } = canvas.getBoundingClientRect();
    const now = zoomTransform(canvas);
    const left = now.applyX(frame.x);
    const top = now.applyY(frame.y);
    const right = now.applyX(frame.x + frame.width);
    const bottom = now.applyY(frame.y + frame.height);
    const by = (low: number, high: number, size: number): number =>
      low < MARGIN ? MARGIN - low : high > size - MARGIN ? Math.max(size - MARGIN - high, MARGIN - low) : 0;
    const [dx, dy] = [by(left, right, width), by(top, bottom, height - CONTROLS)];
    if (dx !== 0 || dy !== 0) this.behaviour.translateBy(select(canvas), dx / now.k, dy / now.k);
  }

  /** As `home`, but what does not stay readable is shown from the anchor on, which is in the upper left. */
  homeAtCorner(frame: Frame, anchor: Frame): void {
    if (this.scaleFor(frame) >= READABLE) this.home([frame], anchor);
    else {
      this.moved = false;
      const at = { x: anchor.x + anchor.width / 2, y: anchor.y + anchor.height / 2 };
      const { width, height } = this.canvas?.getBoundingClientRect() ?? { width: 1, height: 1 };
      const share = (size: number, all: number): number => (MARGIN + (size * COMFORTABLE) / 2) / Math.max(all, 1);
      this.show({ ...at, width: 0, height: 0 }, COMFORTABLE, {
        x: share(anchor.width, width),
        y: share(anchor.height, height) + CORNER_WORDS / Math.max(height, 1),
      });
    }
  }

  private scaleFor(frame: Frame): number {
    const { width, height } = this.canvas?.getBoundingClientRect() ?? { width: 0, height: 0 };
    if (width <= 2 * MARGIN || height <= 2 * MARGIN) return 1;
    const room = Math.max(1, height - CONTROLS - 2 * MARGIN);
    return Math.min((width - 2 * MARGIN) / Math.max(frame.width, 1), room / Math.max(frame.height, 1));
  }

  /** `at`: where in the view the frame's middle is to be, as shares of its width and height; else above legend and controls. */
  private show(frame: Frame, scale: number, at?: { x: number; y: number }): void {
    const canvas = this.canvas;
    if (!canvas) return;
    const { width, height } = canvas.getBoundingClientRect();
    const middle = at ?? { x: 0.5, y: 0.5 - CONTROLS / 2 / Math.max(height, 1) };
    const to = zoomIdentity
      .translate(
        width * middle.x - (frame.x + frame.width / 2) * scale,
        height * middle.y - (frame.y + frame.height / 2) * scale,
      )
      .scale(scale);
    this.behaviour.transform(select(canvas), to);
  }

  private apply(transform: ZoomTransform): void {
    this.content?.setAttribute("transform", transform.toString());
    this.canvas?.classList.toggle("far", transform.k < FAR);
  }
}
