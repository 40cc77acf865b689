/** Entities in the orders in which they are listed. */
import type { EntityBox } from "../../../shared/protocol";

/** Each container before what is in it. */
export function inOrder(boxes: ReadonlyMap<number, EntityBox>): number[] {
  const inside = new Map<number, EntityBox[]>();
  for (const box of boxes.values()) {
    const container = boxes.has(box.container) ? box.container : -1;
    const list = inside.get(container);
    if (list) list.push(box);
    else inside.set(container, [box]);
  }
  const found: number[] = [];
  const walk = (container: number): void => {
    for (const box of inside.get(container) ?? []) {
      found.push(box.entity);
      walk(box.entity);
    }
    inside.delete(container);
  };
  walk(-1);
  return found;
}

/** Who sent and received most first; containers only where they did. */
export function busiestFirst(boxes: ReadonlyMap<number, EntityBox>): EntityBox[] {
  const traffic = (box: EntityBox): number => box.sent + box.received;
  return [...boxes.values()]
    .filter((box) => traffic(box) > 0 || box.holds === 0)
    .sort((a, b) => traffic(b) - traffic(a) || a.entity - b.entity);
}

/** The same one in another answer, whose numbers may be others. */
export function isSame(box: EntityBox, other: EntityBox | undefined): boolean {
  return box.name === other?.name && box.kind === other.kind;
}

/** Those in whose name a text is found. */
export function named(boxes: ReadonlyMap<number, EntityBox>, text: string): Set<number> {
  const wanted = text.trim().toLowerCase();
  return new Set(
    [...boxes.values()].filter(({ name }) => name.toLowerCase().includes(wanted)).map((box) => box.entity),
  );
}

/** The one after (1) or before (-1) another, all around; of one that is not among them the first or the last. */
export function neighbourOf(among: readonly number[], one: number, by: 1 | -1): number | undefined {
  const at = among.indexOf(one);
  return among.at(at < 0 ? (by > 0 ? 0 : -1) : (at + by) % among.length);
}
