/** Turns a route into a smooth SVG path, and finds where its label goes. */
import type { Flow, Point, Route } from "./types";

/** Cubic pieces whose tangents follow the flow, so that an edge leaves and enters its boxes at a right angle. */
export function curve(route: Route, flow: Flow): string {
  const [first, ...rest] = route.points;
  if (!first) return "";
  if (route.bends) return `M${point(first)}C${rest.map(point).join(" ")}`;
  const parts = [`M${point(first)}`];
  let [x, y] = first;
  for (const [toX, toY] of rest) {
    const middle = flow === "down" ? (y + toY) / 2 : (x + toX) / 2;
    const a: Point = flow === "down" ? [x, middle] : [middle, y];
    const b: Point = flow === "down" ? [toX, middle] : [middle, toY];
    parts.push(`C${point(a)} ${point(b)} ${point([toX, toY])}`);
    [x, y] = [toX, toY];
  }
  return parts.join("");
}

/** The middle of the route's last piece, which lies in the gap before its target, where no box is. */
export function labelPlace(points: readonly Point[]): Point {
  const last = points.at(-1) ?? [0, 0];
  const before = points.at(-2) ?? last;
  return [(before[0] + last[0]) / 2, (before[1] + last[1]) / 2];
}

function point([x, y]: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`;
}
