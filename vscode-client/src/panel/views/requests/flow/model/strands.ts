/**
 * The strand of each call of a flow: the nearest enclosing task, thread or message handler.
 *
 * Invariant: strands that the same function started in the same way are one, so there are at most as many as functions and ways.
 */
import type { Strand } from "../layout/lanes";
import type { Flow } from "./flow";

/** By call; calls come after those they hang from. */
export function strandsOf(flow: Flow): ReadonlyMap<string, Strand> {
  const found = new Map<string, Strand>();
  const known = new Map<string, Strand>();
  for (const call of flow.calls) {
    const above = found.get(call.parent);
    const id = `${call.channel}\u0000${call.label}`;
    let strand = above && call.channel === "" ? above : known.get(id);
    if (!strand) {
      const name = call.members[0]?.name ?? call.name;
      strand = { id, name: call.channel ? `${name} · ${call.channel}` : name };
      known.set(id, strand);
    }
    found.set(call.id, strand);
  }
  return found;
}
