/**
 * The elements of a timeline: the canvas in the scrolling part, and the overview of the run below.
 *
 * Invariant: listeners leave an element when another one replaces it; one frame serves all changes.
 */
import { AXIS } from "../draw/scene";
import { type CanvasChanges, devicePixels, watchCanvas } from "../../../ui/canvas/canvas";
import { listen, listenToOverview, type GestureActions } from "./gestures";

/** Nothing lies below. */
const OPAQUE = { alpha: false };

export interface Changes extends CanvasChanges {
  /** It is time to draw. */
  frame(): void;
}

export class Canvases {
  private canvas: HTMLCanvasElement | undefined;
  private overview: HTMLCanvasElement | undefined;
  private scroller: HTMLElement | undefined;
  private listening: AbortController | undefined;
  private drawn = 0;

  constructor(
    private readonly wishes: GestureActions,
    private readonly changes: Changes,
  ) {}

  get isThere(): boolean {
    return this.canvas !== undefined;
  }

  /** In px, 0 where there is none. */
  get width(): number {
    return this.canvas?.clientWidth ?? 0;
  }

  get height(): number {
    return this.canvas?.clientHeight ?? 0;
  }

  /** Below the axis. */
  get bodyHeight(): number {
    return Math.max(0, this.height - AXIS);
  }

  /** What is scrolled away above. */
  get top(): number {
    return this.scroller?.scrollTop ?? 0;
  }

  get isFocused(): boolean {
    const { canvas } = this;
    return canvas !== undefined && document.activeElement === canvas && canvas.matches(":focus-visible");
  }

  focus(): void {
    this.canvas?.focus();
  }

  scrollBy(dy: number): void {
    this.scroller?.scrollBy(0, dy);
  }

  /** Scrolls just so far that a row is seen. */
  uncover(top: number, height: number): void {
    if (!this.scroller) return;
    if (top < this.top) this.scroller.scrollTop = top;
    else if (top + height > this.top + this.bodyHeight) this.scroller.scrollTop = top + 2 * height - this.bodyHeight;
  }

  /** Says on the canvas whether all that was wanted is there. */
  isWhole(whole: boolean): void {
    this.canvas?.toggleAttribute("data-whole", whole);
  }

  invalidate(): void {
    if (this.drawn === 0) {
      this.drawn = requestAnimationFrame(() => {
        this.drawn = 0;
        this.changes.frame();
      });
    }
  }

  pens(): { front: CanvasRenderingContext2D; overview: CanvasRenderingContext2D | undefined } | undefined {
    const front = this.canvas && devicePixels(this.canvas, OPAQUE);
    return front && { front, overview: this.overview && devicePixels(this.overview, OPAQUE) };
  }

  attachScroller(element: Element | undefined): void {
    this.scroller = element instanceof HTMLElement ? element : undefined;
  }

  attach(element: Element | undefined): void {
    if (element === this.canvas) return;
    this.listening?.abort();
    this.canvas = element instanceof HTMLCanvasElement ? element : undefined;
    if (!this.canvas) return;
    this.listening = new AbortController();
    const { signal } = this.listening;
    const { changes } = this;
    listen(this.canvas, this.wishes, signal);
    watchCanvas(this.canvas, changes, signal);
    changes.recoloured();
  }

  attachOverview(element: Element | undefined): void {
    if (element === this.overview || !this.listening) return;
    this.overview = element instanceof HTMLCanvasElement ? element : undefined;
    if (this.overview) listenToOverview(this.overview, this.wishes, this.listening.signal);
    this.invalidate();
  }
}
