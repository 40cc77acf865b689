/** Dashed lines between the same calls of two pictures side by side, in px of the overlay. */
import { svg, type SVGTemplateResult } from "lit";
import type { ZoomTransform } from "d3-zoom";
import type { PlacedNode } from "../../../../graph/layout/types";

export interface SideOf {
  nodes: ReadonlyMap<string, PlacedNode>;
  transform: ZoomTransform;
  /** Where the picture lies in what is over both. */
  left: number;
  width: number;
}

/** Lines whose ends both are out of sight are left out. */
export function drawLines(
  ids: readonly string[],
  strong: ReadonlySet<string>,
  before: SideOf,
  after: SideOf,
): SVGTemplateResult {
  return svg`${ids.map((id) => {
    const [from, to] = [end(before, id, 1), end(after, id, -1)];
    if (!from || !to || (!from.seen && !to.seen)) return undefined;
    return svg`<path class="correspondence ${strong.has(id) ? "strong" : ""}" d="M${from.x},${from.y}L${to.x},${to.y}" />`;
  })}`;
}

/** The right (1) or left (-1) side of a node, clamped to its picture. */
function end(side: SideOf, id: string, which: 1 | -1): { x: number; y: number; seen: boolean } | undefined {
  const node = side.nodes.get(id);
  if (!node) return undefined;
  const x = side.transform.applyX(node.x + (which * node.width) / 2);
  const within = Math.min(Math.max(x, 0), side.width);
  return {
    x: Math.round(10 * (side.left + within)) / 10,
    y: Math.round(10 * side.transform.applyY(node.y)) / 10,
    seen: x === within,
  };
}
