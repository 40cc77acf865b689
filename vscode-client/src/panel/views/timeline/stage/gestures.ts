/**
 * Turns pointer and wheel events on a timeline's canvases into actions.
 *
 * Invariant: the module stores no time and no position, only the current gesture.
 */
import { AXIS } from "../draw/scene";
import { zoomFactor, wheelPixels } from "../../../ui/wheel";

/** Places in px from the canvas' top left; `gutter` is left of the times. */
export interface GestureActions {
  readonly gutter: number;
  readonly width: number;
  zoom(factor: number, x: number): void;
  pan(dx: number, dy: number): void;
  measure(from: number, to: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  doubleClick(x: number, y: number): void;
  fold(y: number): void;
  /** The overview: shows what lies around a share (0 to 1) of the run. */
  centre(share: number): void;
}

/** So far a hand moves without meaning to drag. */
const STILL = 4;

export function listen(canvas: HTMLCanvasElement, wishes: GestureActions, signal: AbortSignal): void {
  let held: { x: number; y: number; startX: number; startY: number; measures: boolean; moved: boolean } | undefined;
  const place = (event: MouseEvent): { x: number; y: number } => {
    const node = canvas.getBoundingClientRect();
    return { x: event.clientX - node.left, y: event.clientY - node.top };
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      const { x } = place(event);
      // Over the names it scrolls.
      if (x < wishes.gutter) return;
      event.preventDefault();
      const by = wheelPixels(event);
      if (event.shiftKey || Math.abs(by.x) > Math.abs(by.y)) wishes.pan(-(event.shiftKey ? by.x + by.y : by.x), 0);
      else wishes.zoom(1 / zoomFactor(event), x);
    },
    { passive: false, signal },
  );
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      const { x, y } = place(event);
      const measures = event.shiftKey || (y < AXIS && x >= wishes.gutter);
      held = { x, y, startX: x, startY: y, measures, moved: false };
      canvas.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const { x, y } = place(event);
      if (!held) {
        wishes.hover(x, y);
        return;
      }
      if (Math.abs(x - held.startX) + Math.abs(y - held.startY) > STILL) held.moved = true;
      if (held.moved && held.measures) wishes.measure(held.startX, x);
      else if (held.moved) wishes.pan(x - held.x, y - held.y);
      held = { ...held, x, y };
    },
    { signal },
  );
  canvas.addEventListener(
    "pointerup",
    (event) => {
      const was = held;
      held = undefined;
      if (!was || was.moved) return;
      const { x, y } = place(event);
      if (x < wishes.gutter) wishes.fold(y);
      else wishes.click(x, y);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointercancel",
    () => {
      held = undefined;
    },
    { signal },
  );
  canvas.addEventListener(
    "pointerleave",
    () => {
      if (!held) wishes.leave();
    },
    { signal },
  );
  canvas.addEventListener(
    "dblclick",
    (event) => {
      const { x, y } = place(event);
      if (x >= wishes.gutter) wishes.doubleClick(x, y);
    },
    { signal },
  );
}

/** The strip with the whole run: a press goes there, a drag takes the window along. */
export function listenToOverview(canvas: HTMLCanvasElement, wishes: GestureActions, signal: AbortSignal): void {
  let held = false;
  const go = (event: PointerEvent): void => {
    const node = canvas.getBoundingClientRect();
    wishes.centre((event.clientX - node.left - wishes.gutter) / Math.max(1, node.width - wishes.gutter));
  };
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      held = event.button === 0;
      if (!held) return;
      canvas.setPointerCapture(event.pointerId);
      go(event);
    },
    { signal },
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      if (held) go(event);
    },
    { signal },
  );
  for (const name of ["pointerup", "pointercancel"] as const) {
    canvas.addEventListener(
      name,
      () => {
        held = false;
      },
      { signal },
    );
  }
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const node = canvas.getBoundingClientRect();
      // Around the middle of what is seen: the strip has another scale.
      wishes.zoom(1 / zoomFactor(event), wishes.gutter + (node.width - wishes.gutter) / 2);
    },
    { passive: false, signal },
  );
}
