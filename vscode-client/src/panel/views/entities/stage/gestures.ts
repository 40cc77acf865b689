/** Turns pointer and wheel events on the picture of entities into actions. Positions in px from the top left of the canvas. */
import { zoomFactor } from "../../../ui/wheel";
import type { Spot } from "../layouts/types";

export interface GestureActions {
  hover(spot: Spot | undefined): void;
  click(spot: Spot): void;
  doubleClick(spot: Spot): void;
  dragBegins(spot: Spot): void;
  drag(spot: Spot, dx: number, dy: number): void;
  zoomBy(factor: number, at: Spot): void;
}

/** So far a hand moves without meaning to drag. */
const STILL = 4;

export function listenToEntities(canvas: HTMLCanvasElement, hands: GestureActions, signal: AbortSignal): void {
  let held: { at: Spot; start: Spot; moved: boolean } | undefined;
  const options = { signal };
  const place = (event: MouseEvent): Spot => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      hands.zoomBy(zoomFactor(event), place(event));
    },
    { passive: false, signal },
  );
  canvas.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      const at = place(event);
      held = { at, start: at, moved: false };
      hands.dragBegins(at);
      canvas.setPointerCapture(event.pointerId);
    },
    options,
  );
  canvas.addEventListener(
    "pointermove",
    (event) => {
      const at = place(event);
      if (!held) {
        hands.hover(at);
        return;
      }
      if (Math.abs(at.x - held.start.x) + Math.abs(at.y - held.start.y) > STILL) held.moved = true;
      if (held.moved) hands.drag(at, at.x - held.at.x, at.y - held.at.y);
      held = { ...held, at };
    },
    options,
  );
  canvas.addEventListener(
    "pointerup",
    (event) => {
      const was = held;
      held = undefined;
      if (was && !was.moved) hands.click(place(event));
    },
    options,
  );
  canvas.addEventListener(
    "pointercancel",
    () => {
      held = undefined;
    },
    options,
  );
  canvas.addEventListener(
    "pointerleave",
    () => {
      if (!held) hands.hover(undefined);
    },
    options,
  );
  canvas.addEventListener(
    "dblclick",
    (event) => {
      hands.doubleClick(place(event));
    },
    options,
  );
}
