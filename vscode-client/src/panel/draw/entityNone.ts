/** What the entities view says while it has nobody to show: there is no run, its answer is on the way, or nothing was recorded. */
import { html, nothing, type TemplateResult } from "lit";
import type { EntitiesResult } from "../../shared/protocol";
import type { Shared } from "../store";
import { asking, emptyState, noRun } from "./parts";

export function nobodyToShow(
  answer: EntitiesResult | undefined,
  { busy, runs, runsKnown }: Pick<Shared, "busy" | "runs" | "runsKnown">,
): TemplateResult {
  const hasNoRun = runsKnown && runs.length === 0;
  return html`<div class="view">
    ${answer ? nobody(answer) : hasNoRun ? noRun() : busy > 0 ? asking("Finding who is where …") : nothing}
  </div>`;
}

function nobody({ message }: EntitiesResult): TemplateResult {
  return emptyState("Nobody to show", message || "Nothing of entities, threads or tasks was recorded.");
}
