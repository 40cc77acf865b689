/** Routes an edge between two nodes without a layout around it: straight to nodes of other columns, bent around nodes in between. */
import type { PlacedNode, Point, Route } from "./types";

/** How far an edge bends around the nodes between its ends, in px. */
const BEND = 44;

/** `row`: how far apart two nodes with none between them are, one below the other. */
export function edgeRoute(id: string, from: PlacedNode, to: PlacedNode, row: number): Route {
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
