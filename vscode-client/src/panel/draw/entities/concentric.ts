/** Rings: entities around a middle, what is in a container on a ring within its square. A container can be gone into. */
import { arranged } from "./arrangement";
import type { DrawingKind, Frame } from "./module";
import { paintNested } from "./paint";

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
  hint: "On rings, in the order that makes lines short; what is in a container on a ring within it",
  make: (scene) => arranged(scene, "concentric", drawConcentric),
};
