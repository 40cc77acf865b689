/** Lists live programs of other workspaces. Programs and workspace folders come and go. */
import type { RunsResult } from "../../shared/protocol";
import type { Store } from "./store";

/** Keeps the known runs if the request fails. `ask` is called like the panel's transport. */
export async function findOtherWorkspaces(
  ask: (method: "clew/runs", params: { elsewhere: true }) => Promise<RunsResult>,
  store: Store,
): Promise<void> {
  const found = await ask("clew/runs", { elsewhere: true }).catch(() => undefined);
  if (found) store.update({ otherWorkspaces: found.elsewhere });
}
