/** The orders in which entities are listed. */
import type { EntityBox } from "../../../../shared/protocol";
import { matcher } from "../../../ui/searchMatch";

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

/** Those whose name has every word of a text. */
export function named(boxes: ReadonlyMap<number, EntityBox>, text: string): Set<number> {
  const matches = matcher(text);
  return new Set([...boxes.values()].filter(({ name }) => matches(name)).map((box) => box.entity));
}
