/** The pickers for the two runs of a comparison. */
import { html, type TemplateResult } from "lit";
import type { RunRef } from "../../shared/protocol";
import type { Pair } from "./runPair";
import { icon } from "../ui/icons";
import { runOptions } from "../ui/runs";

/** `change` receives the new pair; `more` are further pickers of the view. */
export function pairPickers(
  runs: readonly RunRef[],
  pair: Pair,
  change: (pair: Pair) => void,
  more?: TemplateResult,
): TemplateResult {
  const picker = (which: "before" | "after", mark: string): TemplateResult =>
    html`<label class="picker ${which}">
      <span class="mark" aria-hidden="true">${mark}</span>
      <span class="word">${which === "before" ? "Before" : "After"}</span>
      <select
        aria-label=${`Run ${which}`}
        @change=${(event: Event) => {
          change({ ...pair, [which]: (event.target as HTMLSelectElement).value });
        }}
      >
        ${runOptions(runs, pair[which])}
      </select>
    </label>`;
  return html`<div class="diff-pickers">
    ${picker("before", "−")}
    <button
      type="button"
      class="quiet"
      title="Swap before and after"
      aria-label="Swap before and after"
      @click=${() => {
        change({ before: pair.after, after: pair.before });
      }}
    >
      ${icon("swap")}
    </button>
    ${picker("after", "+")} ${more ?? ""}
  </div>`;
}
