/** Turns a route into a smooth SVG path and places its label. */
import type { Flow, Point, Route } from "./types";

/** How far below a loop its label is. */
const LOOP_LABEL = 11;

/** Cubic pieces whose tangents follow the flow, so that an edge leaves and enters its nodes at a right angle. */
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

/** The middle of the last segment of the route, which lies in the gap before its target; for a loop, next to it. */
export function labelPlace({ points, bends }: Pick<Route, "points" | "bends">, width: number, flow: Flow): Point {
  const [start, pulled] = points;
  if (bends && start && pulled) {
    const end = points.at(-1) ?? start;
    const reach: Point = [pulled[0] * 0.75 + start[0] * 0.25, pulled[1] * 0.75 + start[1] * 0.25];
    return flow === "down"
      ? [reach[0] + width / 2, (start[1] + end[1]) / 2]
      : [(start[0] + end[0]) / 2, reach[1] + LOOP_LABEL];
  }
  const last = points.at(-1) ?? [0, 0];
  const before = points.at(-2) ?? last;
  return [(before[0] + last[0]) / 2, (before[1] + last[1]) / 2];
}

function point([x, y]: Point): string {
  return `${Math.round(x * 10) / 10},${Math.round(y * 10) / 10}`;
}
