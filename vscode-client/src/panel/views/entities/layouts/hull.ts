/** The outline around circles: the convex hull of points on them, at a small distance. Lengths in px. */
import type { Spot } from "./types";

const CORNERS = 12;

export function hull(circles: readonly { x: number; y: number; radius: number }[], apart: number): Spot[] {
  const points = circles.flatMap(({ x, y, radius }) =>
    Array.from({ length: CORNERS }, (_, at) => {
      const angle = (2 * Math.PI * at) / CORNERS;
      return { x: x + (radius + apart) * Math.cos(angle), y: y + (radius + apart) * Math.sin(angle) };
    }),
  );
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  return [...half(points), ...half(points.reverse())];
}

/** Without its last point, which is the first of the other half. */
function half(points: readonly Spot[]): Spot[] {
  const found: Spot[] = [];
  for (const point of points) {
    for (;;) {
      const [a, b] = [found.at(-2), found.at(-1)];
      if (!a || !b || (b.x - a.x) * (point.y - a.y) - (b.y - a.y) * (point.x - a.x) > 0) break;
      found.pop();
    }
    found.push(point);
  }
  return found.slice(0, -1);
}
