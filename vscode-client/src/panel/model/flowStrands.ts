/**
 * What the calls of a flow run in: the strand that the nearest of them began that something led to, a task, a thread or a message.
 *
 * Invariant: strands that the same function began by the same way are one, so there are no more than there are functions and ways.
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
