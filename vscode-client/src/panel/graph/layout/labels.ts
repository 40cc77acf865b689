/**
 * Separates the labels of edges: each label moves along its gap in small steps until it covers no other.
 *
 * Invariant: labels keep their order and cover no other; a label without room near its edge is left out.
 */
import type { Flow, Point } from "./types";

export interface Label {
  id: string;
  at: Point;
  width: number;
  height: number;
}

const STEPS = 16;
const STEP_PX = 10;

export function separateLabels(labels: readonly Label[], flow: Flow): Label[] {
  const placed: Label[] = [];
  for (const label of labels) {
    const free = candidates(label, flow).find((one) => !placed.some((other) => overlap(one, other)));
    if (free) placed.push(free);
  }
  return placed;
}

/** Where it is, then further and further to both sides across the flow. */
function candidates(label: Label, flow: Flow): Label[] {
  const moved = [label];
  for (let step = 1; step <= STEPS; step += 1) {
    for (const side of [1, -1]) {
      const by = step * STEP_PX * side;
      const [x, y] = label.at;
      moved.push({ ...label, at: flow === "down" ? [x + by, y] : [x, y + by] });
    }
  }
  return moved;
}

export function overlap(a: Label, b: Label): boolean {
  return (
    Math.abs(a.at[0] - b.at[0]) < (a.width + b.width) / 2 + 2 &&
    Math.abs(a.at[1] - b.at[1]) < (a.height + b.height) / 2 + 1
  );
}
