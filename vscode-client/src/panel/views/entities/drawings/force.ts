/** The force-directed drawing: lines attract entities, all other entities repel each other; a container has a colour and an outline. */
import type { Spot } from "../layouts/types";
import { hull } from "../layouts/hull";
import { cssColour } from "../../../ui/hue";
import { arranged } from "./arrangement";
import type { Pen } from "../../../ui/canvas/pen";
import type { DrawingKind, EntityDrawing, EntityScene, Frame, Seen } from "./contract";
import { holdsSeen, paintEntities, paintNames, paintSelected } from "../paint/shapes";

const APART = 9;
const COLOURS = 8;

function made(scene: EntityScene): EntityDrawing {
  const drawing = arranged(scene, "force", (frame, { pins }) => {
    drawForce(frame, pins);
  });
  return {
    ...drawing,
    pin: (entity, spot) => {
      drawing.arrangement.pin(entity, spot);
    },
  };
}

export function drawForce(frame: Frame, pins: ReadonlyMap<number, unknown> = new Map()): void {
  const { ground, front, seen } = frame;
  const leaves = seen.filter((one) => !holdsSeen(frame, one));
  const inside = members(frame, leaves);
  if (ground) {
    // What is in several containers has the colour of the innermost, whose outline is drawn last.
    const outermost = [...inside].sort(([, a], [, b]) => b.length - a.length);
    outermost.forEach(([id, held]) => {
      paintOutline(ground, frame, id, held);
    });
  }
  paintEntities(front, frame, leaves);
  paintPins(front, frame, pins);
  paintSelected(front, frame);
  // The name of a container is above its outline.
  const tops = seen.map((one) =>
    holdsSeen(frame, one) ? { ...one, ...above(inside.get(one.shape.box.entity) ?? [one]) } : one,
  );
  paintNames(front, frame, tops);
}

/** By container all leaves that are in it, at any depth. */
function members(frame: Frame, leaves: readonly Seen[]): Map<number, Seen[]> {
  const found = new Map<number, Seen[]>();
  for (const leaf of leaves) {
    let at = frame.byId.get(leaf.shape.box.container);
    for (let depth = 0; at && depth < 32; depth++) {
      const list = found.get(at.shape.box.entity);
      if (list) list.push(leaf);
      else found.set(at.shape.box.entity, [leaf]);
      at = frame.byId.get(at.shape.box.container);
    }
  }
  return found;
}

function above(held: readonly Seen[]): Spot & { radius: number } {
  let [left, right, top] = [Infinity, -Infinity, Infinity];
  for (const { x, y, radius } of held) {
    [left, right, top] = [Math.min(left, x), Math.max(right, x), Math.min(top, y - radius - APART)];
  }
  return { x: (left + right) / 2, y: top, radius: 0 };
}

function paintOutline(pen: Pen, { colours, byId }: Frame, id: number, held: readonly Seen[]): void {
  const around = byId.get(id);
  const [first, ...others] = hull(held, APART + 3 * (around ? 4 - Math.min(4, around.shape.depth) : 0));
  if (!first || !around) return;
  const colour = cssColour(colours.hues[id % COLOURS] ?? [128, 128, 128]);
  pen.beginPath();
  pen.moveTo(first.x, first.y);
  for (const { x, y } of others) pen.lineTo(x, y);
  pen.closePath();
  pen.fillStyle = colour;
  pen.strokeStyle = colour;
  pen.lineJoin = "round";
  pen.lineWidth = 1.5;
  pen.globalAlpha = 0.12 * around.shape.alpha;
  pen.fill();
  pen.globalAlpha = 0.75 * around.shape.alpha;
  if (around.shape.box.presence !== "there") pen.setLineDash([5, 4]);
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** Those that are held have a point in their middle. */
function paintPins(pen: Pen, { byId, colours }: Frame, pins: ReadonlyMap<number, unknown>): void {
  pen.fillStyle = colours.text;
  for (const id of pins.keys()) {
    const one = byId.get(id);
    if (!one) continue;
    pen.beginPath();
    pen.arc(one.x, one.y, Math.min(3, one.radius * 0.4), 0, 2 * Math.PI);
    pen.fill();
  }
}

export const FORCE: DrawingKind = {
  name: "force",
  title: "Forces",
  hint: "Communicating entities attract each other; drag an entity to pin it, double-click to unpin it",
  make: made,
};
