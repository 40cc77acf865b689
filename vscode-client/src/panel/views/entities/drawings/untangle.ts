/** The untangled drawing: entities placed for few crossings, the contents of a container within its circle. */
import { arranged } from "./arrangement";
import type { DrawingKind, Frame } from "./contract";
import { paintNested } from "../paint/shapes";

export function drawUntangled(frame: Frame): void {
  paintNested(frame, (pen, { x, y, radius }) => {
    pen.arc(x, y, radius, 0, 2 * Math.PI);
  });
}

export const UNTANGLED: DrawingKind = {
  name: "untangled",
  title: "Untangled",
  hint: "Minimises edge crossings and overlaps",
  make: (scene) => arranged(scene, "untangled", drawUntangled),
};
