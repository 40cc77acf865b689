/** Takes a graph apart into its connected parts, and packs rectangles into rows. */
import type { Box, Link } from "./types";

export interface Part {
  boxes: Box[];
  links: Link[];
}

/** The connected parts, the one with the most boxes first; equal ones in the order of their first box. */
export function connectedParts(boxes: readonly Box[], links: readonly Link[]): Part[] {
  const leader = new Map(boxes.map((box) => [box.id, box.id]));
  const find = (id: string): string => {
    let at = id;
    for (let up = leader.get(at); up !== undefined && up !== at; up = leader.get(at)) at = up;
    leader.set(id, at);
    return at;
  };
  for (const link of links) leader.set(find(link.target), find(link.source));
  const parts = new Map<string, Part>();
  for (const box of boxes) {
    const id = find(box.id);
    const part = parts.get(id) ?? { boxes: [], links: [] };
    part.boxes.push(box);
    parts.set(id, part);
  }
  for (const link of links) parts.get(find(link.source))?.links.push(link);
  return [...parts.values()].sort((a, b) => b.boxes.length - a.boxes.length);
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
