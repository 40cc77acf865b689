/** Entities where their lines cross least, what is in a container within its circle. */
import { arranged } from "./arrangement";
import type { DrawingKind, Frame, Pen, Seen } from "./module";
import { holdsSeen, paintEntities, paintKnown, paintNames, paintSelected } from "./paint";

export function drawUntangled(frame: Frame): void {
  const { ground, front, seen } = frame;
  if (ground) {
    for (const one of seen) if (holdsSeen(frame, one)) paintDisc(ground, frame, one);
    paintKnown(ground, frame);
  }
  paintEntities(
    front,
    frame,
    seen.filter((one) => !holdsSeen(frame, one)),
  );
  paintSelected(front, frame);
  paintNames(front, frame);
}

function paintDisc(pen: Pen, { colours }: Frame, { x, y, radius, shape }: Seen): void {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fillStyle = colours.raised;
  pen.globalAlpha = shape.alpha * (shape.depth % 2 ? 0.55 : 1);
  pen.fill();
  pen.globalAlpha = shape.alpha;
  pen.strokeStyle = colours.known;
  pen.lineWidth = 1.25;
  if (shape.box.presence !== "there") pen.setLineDash([5, 4]);
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

export const UNTANGLED: DrawingKind = {
  name: "untangled",
  title: "Untangled",
  hint: "Where lines cross least and pass over nobody, as far as a search finds such places",
  make: (scene) => arranged(scene, "untangled", drawUntangled),
};
