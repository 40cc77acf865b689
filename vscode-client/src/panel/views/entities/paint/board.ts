/**
 * Animates entities towards their places: new entities grow, deleted ones shrink, others move.
 *
 * Invariant: an entity at rest is exactly at its place; with reduced motion all entities are at rest.
 */
import type { EntityBox } from "../../../../shared/protocol";
import type { Place } from "../layouts/types";

export interface Shape {
  box: EntityBox;
  x: number;
  y: number;
  radius: number;
  /** From 0 (not there yet) to 1. */
  alpha: number;
  /** Its destination, undefined if it has none. */
  goal: Place | undefined;
  leaving: boolean;
  /** How many containers it is in. */
  depth: number;
}

/** Of the way that is left: the part of it that is gone in a sixtieth of a second. */
const PART = 0.2;
const REST = 0.25;

export class Board {
  readonly shapes = new Map<number, Shape>();

  /** The boxes that there are now. */
  show(boxes: ReadonlyMap<number, EntityBox>): void {
    for (const shape of this.shapes.values()) shape.leaving = !boxes.has(shape.box.entity);
    for (const box of boxes.values()) {
      const shape = this.shapes.get(box.entity);
      if (shape) shape.box = box;
      else {
        const around = this.shapes.get(box.container);
        const [x, y] = around ? [around.x, around.y] : [0, 0];
        this.shapes.set(box.entity, {
          box, x, y, radius: 0, alpha: 0, goal: undefined, leaving: false, depth: 0,
        }); // prettier-ignore
      }
    }
    for (const shape of this.shapes.values()) shape.depth = depthOf(shape.box, boxes);
  }

  aim(places: readonly Place[]): void {
    for (const place of places) {
      const shape = this.shapes.get(place.id);
      if (!shape) continue;
      if (shape.goal === undefined && shape.alpha === 0) {
        // A new one comes up where it belongs, unless it comes out of a container that is seen.
        const around = this.shapes.get(shape.box.container);
        if (!around || around.alpha < 0.5) [shape.x, shape.y] = [place.x, place.y];
      }
      shape.goal = place;
    }
  }

  /** Advances by this many ms; is any entity still moving? */
  ease(ms: number, calm: boolean): boolean {
    const part = calm ? 1 : 1 - (1 - PART) ** (ms / (1000 / 60));
    let moving = false;
    for (const [entity, shape] of this.shapes) {
      const { goal, leaving } = shape;
      const alpha = leaving || !goal ? 0 : 1;
      const [x, y] = goal ? [goal.x, goal.y] : [shape.x, shape.y];
      const radius = leaving || !goal ? 0 : goal.radius;
      const far = Math.max(Math.abs(x - shape.x), Math.abs(y - shape.y), Math.abs(radius - shape.radius));
      if (far < REST && Math.abs(alpha - shape.alpha) < 0.02) {
        moving ||= shape.x !== x || shape.y !== y || shape.radius !== radius || shape.alpha !== alpha;
        [shape.x, shape.y, shape.radius, shape.alpha] = [x, y, radius, alpha];
        if (leaving) this.shapes.delete(entity);
        continue;
      }
      moving = true;
      shape.x += part * (x - shape.x);
      shape.y += part * (y - shape.y);
      shape.radius += part * (radius - shape.radius);
      shape.alpha += part * (alpha - shape.alpha);
    }
    return moving;
  }

  /** The destinations of all entities. */
  goals(): Place[] {
    return [...this.shapes.values()].flatMap(({ goal, leaving }) => (goal && !leaving ? [goal] : []));
  }
}

function depthOf(box: EntityBox, boxes: ReadonlyMap<number, EntityBox>): number {
  let [depth, at] = [0, boxes.get(box.container)];
  // What is in itself was cut by the server; a picture between two moments may still say so.
  while (at && depth < 32) [depth, at] = [depth + 1, boxes.get(at.container)];
  return depth;
}
