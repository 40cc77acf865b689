/** Entities where their lines cross least, what is in a container within its circle. */
import { arranged } from "./arrangement";
import type { DrawingKind, Frame } from "./module";
import { paintNested } from "./paint";

export function drawUntangled(frame: Frame): void {
  paintNested(frame, (pen, { x, y, radius }) => {
    pen.arc(x, y, radius, 0, 2 * Math.PI);
  });
}

export const UNTANGLED: DrawingKind = {
  name: "untangled",
  title: "Untangled",
  hint: "Where lines cross least and pass over nobody, as far as a search finds such places",
  make: (scene) => arranged(scene, "untangled", drawUntangled),
};
