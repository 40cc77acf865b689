/** Splits a graph into its connected components and packs rectangles into rows. */
import type { LayoutNode, Link } from "./types";

export interface Part {
  nodes: LayoutNode[];
  links: Link[];
}

/** The connected parts, the one with the most nodes first; equal ones in the order of their first node. */
export function connectedParts(nodes: readonly LayoutNode[], links: readonly Link[]): Part[] {
  const leader = new Map(nodes.map((node) => [node.id, node.id]));
  const find = (id: string): string => {
    let at = id;
    for (let up = leader.get(at); up !== undefined && up !== at; up = leader.get(at)) at = up;
    leader.set(id, at);
    return at;
  };
  for (const link of links) leader.set(find(link.target), find(link.source));
  const parts = new Map<string, Part>();
  for (const node of nodes) {
    const id = find(node.id);
    const part = parts.get(id) ?? { nodes: [], links: [] };
    part.nodes.push(node);
    parts.set(id, part);
  }
  for (const link of links) parts.get(find(link.source))?.links.push(link);
  return [...parts.values()].sort((a, b) => b.nodes.length - a.nodes.length);
}

/** The top left corners of rectangles in rows no wider than the widest of them or `width`, in the given order. */
export function pack(
  sizes: readonly { width: number; height: number }[],
  width: number,
  gap: number,
): { x: number; y: number }[] {
  const limit = Math.max(width, ...sizes.map((size) => size.width));
  let x = 0;
  let y = 0;
  let rowHeight = 0;
  return sizes.map((size) => {
    if (x > 0 && x + size.width > limit) {
      x = 0;
      y += rowHeight + gap;
      rowHeight = 0;
    }
    const corner = { x, y };
    x += size.width + gap;
    rowHeight = Math.max(rowHeight, size.height);
    return corner;
  });
}
