/** Rings: entities around a middle, what is in a container on a ring within its square. A container can be gone into. */
import { arranged } from "./arrangement";
import type { DrawingKind, Frame, Pen, Seen } from "./module";
import { holdsSeen, paintEntities, paintKnown, paintNames, paintSelected } from "./paint";

/** Of a square's corners: so round that two on a ring do not touch. */
const CORNER = 0.3;

export function drawConcentric(frame: Frame): void {
  const { ground, front, seen } = frame;
  if (ground) {
    for (const one of seen) if (holdsSeen(frame, one)) paintSquare(ground, frame, one);
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

function paintSquare(pen: Pen, { colours, load }: Frame, { x, y, radius, shape }: Seen): void {
  const { box, depth, alpha } = shape;
  pen.globalAlpha = alpha;
  pen.beginPath();
  pen.roundRect(x - radius, y - radius, 2 * radius, 2 * radius, radius * CORNER);
  // Each is a little darker than what it is in.
  pen.fillStyle = colours.raised;
  pen.globalAlpha = alpha * (depth % 2 ? 0.55 : 1);
  pen.fill();
  pen.globalAlpha = alpha;
  pen.strokeStyle = load(box.entity) > 0.02 ? colours.edge : colours.known;
  pen.lineWidth = 1.25;
  if (box.presence !== "there") pen.setLineDash([5, 4]);
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

export const CONCENTRIC: DrawingKind = {
  name: "concentric",
  title: "Rings",
  hint: "On rings, in the order that makes lines short; what is in a container on a ring within it",
  make: (scene) => arranged(scene, "concentric", drawConcentric),
};
