/** An edge from box to box where nothing is laid out around it: straight beside others, bent around what is in between. */
import type { PlacedBox, Point, Route } from "./types";

/** How far an edge bends around the boxes between its ends, in px. */
const BEND = 44;

/** `row`: how far apart two boxes with none between them are, one below the other. */
export function between(id: string, from: PlacedBox, to: PlacedBox, row: number): Route {
  const straight = (...points: Point[]): Route => ({ id, points });
  const { x, y } = from;
  const [half, toHalf] = [from.width / 2, to.width / 2];
  if (to.x > x) return straight([x + half, y], [to.x - toHalf, to.y]);
  if (to.x < x) return straight([x - half, y], [to.x + toHalf, to.y]);
  if (Math.abs(to.y - y) === row) {
    const edge = (Math.sign(to.y - y) * from.height) / 2;
    return straight([x, y + edge], [to.x, to.y - edge]);
  }
  const out = x + half + BEND;
  const around: Point[] = [[x + half, y], [out, y], [out, to.y], [to.x + toHalf, to.y]]; // prettier-ignore
  return { id, points: around, bends: true };
}
