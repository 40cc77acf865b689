/** The answer in words above the graph: what clew does not follow, the verdict, and how sure it is. */
import { html, nothing, type TemplateResult } from "lit";
import type { Verdict } from "../../../shared/protocol";
import { icon } from "../../ui/icons";
import { commandLine, sentence } from "../../ui/parts";
import { count } from "../../ui/text/format";

/** `say` reports the result of copying. */
export function drawVerdict(verdict: Verdict | null, say: (words: string) => void): TemplateResult | typeof nothing {
  if (!verdict) return nothing;
  return html`<section class="verdict" aria-labelledby="verdict-title" tabindex="0">
    <h2 id="verdict-title">Why</h2>
    ${verdict.limits.map((limit) => html`<p class="limit">${sentence(limit)}</p>`)}
    <p class="told">${verdict.sentences.map(({ text }) => text).join(" ")}</p>
    <p class="sure">${howSure(verdict)}</p>
    ${verdict.remedy ? commandLine(verdict.remedy) : nothing}
    <button
      type="button"
      class="quiet"
      title="Copy as Markdown"
      aria-label="Copy the answer as Markdown"
      @click=${() => {
        void copied(verdict).then(say);
      }}
    >
      ${icon("copy")}
    </button>
  </section>`;
}

/** The certainty in a sentence, with the number of other causes that may matter. */
export function howSure(verdict: Verdict): string {
  const others = verdict.others.length > 0 ? ` · ${count(verdict.others.length, "other cause")} found` : "";
  return `How sure: ${verdict.sure}${others}`;
}

async function copied(verdict: Verdict): Promise<string> {
  try {
    await navigator.clipboard.writeText(verdict.markdown);
    return "Copied the answer as Markdown.";
  } catch (error) {
    return `Copying failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
