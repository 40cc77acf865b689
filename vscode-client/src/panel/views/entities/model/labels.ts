/**
 * Labels of entities outside of the picture: entities of the same name get the container that distinguishes them, for example the main
 * threads of two processes.
 *
 * Invariant: a unique name stays unchanged; two labels are equal only if no container differs.
 */
import type { EntityBox } from "../../../../shared/protocol";

const DEEPEST = 32;

export function labelsOf(boxes: ReadonlyMap<number, EntityBox>): Map<number, string> {
  const found = new Map<number, string>();
  const alike = new Map<string, EntityBox[]>();
  for (const box of boxes.values()) {
    found.set(box.entity, box.name);
    const others = alike.get(box.name);
    if (others) others.push(box);
    else alike.set(box.name, [box]);
  }
  for (const group of alike.values()) if (group.length > 1) tellApart(group, boxes, found);
  return found;
}

/** By the innermost containers whose names differ. */
function tellApart(
  group: readonly EntityBox[],
  boxes: ReadonlyMap<number, EntityBox>,
  found: Map<number, string>,
): void {
  let alike = group.map((box) => ({ box, path: pathOf(box, boxes), told: [] as string[] }));
  const deepest = Math.max(...alike.map(({ path }) => path.length));
  for (let level = 0; level < deepest && alike.length > 1; level++) {
    if (new Set(alike.map(({ path }) => path[level])).size === 1) continue;
    const times = new Map<string, number>();
    for (const one of alike) {
      const container = one.path[level];
      if (container !== undefined) one.told.push(container);
      const label = one.told.length > 0 ? `${one.box.name} (${one.told.join(", ")})` : one.box.name;
      found.set(one.box.entity, label);
      times.set(label, (times.get(label) ?? 0) + 1);
    }
    alike = alike.filter(({ box }) => (times.get(found.get(box.entity) ?? "") ?? 0) > 1);
  }
}

/** The names of its containers, the innermost first. */
function pathOf(box: EntityBox, boxes: ReadonlyMap<number, EntityBox>): string[] {
  const path: string[] = [];
  for (let at = boxes.get(box.container); at && path.length < DEEPEST; at = boxes.get(at.container)) path.push(at.name);
  return path;
}
