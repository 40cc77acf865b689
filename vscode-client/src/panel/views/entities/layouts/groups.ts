/**
 * Containers with their direct contents, and the lines at that level: between two members, or from one member to the outside.
 *
 * Invariant: every entity is a member of exactly one group, and outer groups come before inner ones, whatever `container` says.
 */
import type { EntityInput } from "./types";

export interface Link {
  /** A place among the members. */
  a: number;
  /** Another such place; of a line to the outside an entity that is placed before this group is. */
  b: number;
  weight: number;
}

export interface Group {
  /** -1 for the outermost. */
  container: number;
  members: number[];
  inner: Link[];
  outer: Link[];
}

/** The outermost one first. */
export function groups(input: EntityInput): Group[] {
  const paths = pathsOf(input);
  const found = new Map<number, Group>();
  const placeOf = new Map<number, number>();
  const byDepth = [...input.entities].sort((a, b) => depth(paths, a.id) - depth(paths, b.id));
  found.set(-1, { container: -1, members: [], inner: [], outer: [] });
  for (const { id } of byDepth) {
    const container = paths.get(id)?.at(-2) ?? -1;
    const group = found.get(container) ?? { container, members: [], inner: [], outer: [] };
    found.set(container, group);
    placeOf.set(id, group.members.length);
    group.members.push(id);
  }
  for (const [pair, count] of pairs(input)) {
    const [source, target] = pair.split(" ").map((id) => paths.get(Number(id)) ?? []) as [number[], number[]];
    let common = 0;
    while (common < source.length && source[common] === target[common]) common++;
    const [mine, its] = [source[common], target[common]];
    if (mine === undefined || its === undefined) continue; // from a container into itself
    const weight = Math.log2(1 + count);
    const around = found.get(source[common - 1] ?? -1);
    around?.inner.push({ a: placeOf.get(mine) ?? 0, b: placeOf.get(its) ?? 0, weight });
    for (const [path, other] of [
      [source, its],
      [target, mine],
    ] as const) {
      for (let level = common; level + 1 < path.length; level++) {
        const group = found.get(path[level] ?? -1);
        group?.outer.push({ a: placeOf.get(path[level + 1] ?? -1) ?? 0, b: other, weight });
      }
    }
  }
  return [...found.values()];
}

/** Communications by unordered pair, "source target", of two entities that are there. */
export function pairs(input: EntityInput): Map<string, number> {
  const there = new Set(input.entities.map((entity) => entity.id));
  const found = new Map<string, number>();
  for (const { source, target, count } of input.talks) {
    if (source === target || !there.has(source) || !there.has(target)) continue;
    const pair = source < target ? `${source} ${target}` : `${target} ${source}`;
    found.set(pair, (found.get(pair) ?? 0) + count);
  }
  return found;
}

/** By entity its containers, the outermost first, and itself. */
export function pathsOf(input: EntityInput): Map<number, number[]> {
  const container = new Map(input.entities.map((entity) => [entity.id, entity.container]));
  const found = new Map<number, number[]>();
  for (const { id } of input.entities) {
    const path: number[] = [];
    let at = id;
    // What is in itself is outside.
    while (container.has(at) && !path.includes(at)) {
      path.push(at);
      at = container.get(at) ?? -1;
    }
    if (path.includes(at)) container.set(id, -1);
    found.set(id, path.includes(at) ? [id] : path.reverse());
  }
  return found;
}

function depth(paths: ReadonlyMap<number, number[]>, id: number): number {
  return paths.get(id)?.length ?? 0;
}
