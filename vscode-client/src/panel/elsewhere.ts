/** Which programs of other workspaces could be watched: they come and go, and so do their folders. */
import type { RunsResult } from "../shared/protocol";
import type { Store } from "./store";

/** What is known stays where nobody answers. `ask` is asked as the panel's transport is. */
export async function lookElsewhere(
  ask: (method: "clew/runs", params: { elsewhere: true }) => Promise<RunsResult>,
  store: Store,
): Promise<void> {
  const found = await ask("clew/runs", { elsewhere: true }).catch(() => undefined);
  if (found) store.update({ elsewhere: found.elsewhere });
}
