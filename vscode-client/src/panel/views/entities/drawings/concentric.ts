/** The concentric drawing: entities on a ring; each container holds a ring of its contents and can be opened. */
import { arranged } from "./arrangement";
import type { DrawingKind, Frame } from "./contract";
import { paintNested } from "../paint/shapes";

/** Of a square's corners: so round that two on a ring do not touch. */
const CORNER = 0.3;

export function drawConcentric(frame: Frame): void {
  paintNested(frame, (pen, { x, y, radius }) => {
    pen.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, radius * CORNER);
  });
}

export const CONCENTRIC: DrawingKind = {
  name: "concentric",
  title: "Rings",
  hint: "Rings, ordered for short lines; each container holds a ring of its contents",
  make: (scene) => arranged(scene, "concentric", drawConcentric),
};
