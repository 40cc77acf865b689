/** The empty states of the entities view: no run, loading, or nothing recorded. */
import { html, nothing, type TemplateResult } from "lit";
import type { EntitiesResult } from "../../../../shared/protocol";
import type { SharedState } from "../../../app/store";
import { loading, emptyState, noRun } from "../../../ui/parts";

export function entitiesEmptyState(
  answer: EntitiesResult | undefined,
  { busy, runs, runsKnown }: Pick<SharedState, "busy" | "runs" | "runsKnown">,
): TemplateResult {
  const hasNoRun = runsKnown && runs.length === 0;
  return html`<div class="view">
    ${answer ? nobody(answer) : hasNoRun ? noRun() : busy > 0 ? loading("Loading entities …") : nothing}
  </div>`;
}

function nobody({ message }: EntitiesResult): TemplateResult {
  return emptyState("No entities", message || "This run recorded no entities, threads or tasks.");
}
