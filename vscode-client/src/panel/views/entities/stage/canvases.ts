/**
 * The three overlaid canvases of entities: size, theme and scheduling of frames.
 *
 * Invariant: any number of requests for a frame gives one frame, and only while the canvases are on the page.
 */
import type { Pens } from "../paint/layers";
import { type CanvasChanges, devicePixels, watchCanvas } from "../../../ui/canvas/canvas";
import { type GestureActions, listenToEntities } from "./gestures";

export interface Due extends CanvasChanges {
  frame(now: number): void;
}

export class EntityCanvases {
  private canvases: HTMLCanvasElement[] = [];
  private listening: AbortController | undefined;
  private asked = 0;

  constructor(private readonly due: Due) {}

  /** Told of the element that holds them, undefined when it is gone. */
  attach(element: Element | undefined, hands: GestureActions): void {
    const canvases = element ? [...element.querySelectorAll("canvas")] : [];
    if (canvases[0] === this.canvases[0]) return;
    this.listening?.abort();
    this.canvases = canvases;
    const { front } = this;
    if (!element || !front) {
      cancelAnimationFrame(this.asked);
      this.asked = 0;
      return;
    }
    this.listening = new AbortController();
    const { signal } = this.listening;
    listenToEntities(front, hands, signal);
    const { due } = this;
    const changes: CanvasChanges = {
      sized: () => {
        for (const canvas of this.canvases) devicePixels(canvas);
        due.sized();
      },
      recoloured: () => {
        due.recoloured();
      },
    };
    watchCanvas(front, changes, signal);
    due.recoloured();
  }

  private get front(): HTMLCanvasElement | undefined {
    return this.canvases.at(-1);
  }

  /** In px of the page; undefined while there are none. */
  get size(): { width: number; height: number } | undefined {
    const { front } = this;
    return front && { width: front.clientWidth, height: front.clientHeight };
  }

  get pens(): Pens | undefined {
    const [ground, trails, front] = this.canvases.map((canvas) => canvas.getContext("2d"));
    return ground && trails && front ? [ground, trails, front] : undefined;
  }

  focus(): void {
    this.front?.focus();
  }

  /** Has the next frame drawn. */
  ask(): void {
    if (this.asked !== 0 || this.canvases.length === 0) return;
    this.asked = requestAnimationFrame((now) => {
      this.asked = 0;
      this.due.frame(now);
    });
  }

  /** Is the pointer over an entity? */
  over(isOver: boolean): void {
    this.front?.classList.toggle("over", isOver);
  }

  /** Is the picture unchanged without user actions? */
  still(isStill: boolean): void {
    this.front?.toggleAttribute("data-still", isStill);
  }
}
