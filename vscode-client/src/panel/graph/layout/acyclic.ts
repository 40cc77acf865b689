/**
 * Chooses the links to reverse so that a graph has no cycle: those that lead back to an ancestor in a depth-first search in the given
 * order of nodes, so that earlier nodes stay above.
 */
import { groupBy } from "../../../shared/group";
import type { Link } from "./types";

/** The ids of the links to turn. Self-links are not among them: they have no direction to turn. */
export function linksToTurn(ids: readonly string[], links: readonly Link[]): Set<string> {
  const outgoing = groupBy(links, (link) => link.source);
  const state = new Map<string, "open" | "done">();
  const turned = new Set<string>();
  for (const start of roots(ids, links)) {
    if (state.has(start)) continue;
    const stack: { id: string; next: number }[] = [{ id: start, next: 0 }];
    state.set(start, "open");
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const link = (outgoing.get(top.id) ?? [])[top.next];
      top.next += 1;
      if (!link) {
        state.set(top.id, "done");
        stack.pop();
      } else if (link.source !== link.target) {
        const seen = state.get(link.target);
        if (seen === "open") turned.add(link.id);
        else if (!seen) {
          state.set(link.target, "open");
          stack.push({ id: link.target, next: 0 });
        }
      }
    }
  }
  return turned;
}

/** Boxes that nothing leads to first, then the others, each in the given order. */
function roots(ids: readonly string[], links: readonly Link[]): string[] {
  const reached = new Set(links.filter((link) => link.source !== link.target).map((link) => link.target));
  return [...ids.filter((id) => !reached.has(id)), ...ids.filter((id) => reached.has(id))];
}
