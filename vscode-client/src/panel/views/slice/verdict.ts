/** The answer in words above the graph: what clew does not follow, the verdict, and how sure it is. */
import { html, nothing, type TemplateResult } from "lit";
import type { FailedTest, Location, Verdict } from "../../../shared/protocol";
import { icon } from "../../ui/icons";
import { commandLine, linkButton, placeLink, sentence } from "../../ui/parts";
import { count } from "../../ui/text/format";
import type { ValueQuestion } from "../value/question";

/** What the answer can do: `say` reports the result of copying. */
export interface VerdictActions {
  workspace: string;
  reveal: (location: Location) => void;
  say: (words: string) => void;
  /** Goes to the view “Values”; undefined where there is none, as in a report. */
  values: ((question: ValueQuestion) => void) | undefined;
}

export function drawVerdict(verdict: Verdict | null, act: VerdictActions): TemplateResult | typeof nothing {
  if (!verdict) return nothing;
  return html`<section class="verdict" aria-labelledby="verdict-title" tabindex="0">
    <h2 id="verdict-title">Why</h2>
    ${verdict.failedTest ? drawFailedTest(verdict.failedTest, act) : nothing}
    ${verdict.limits.map((limit) => html`<p class="limit">${sentence(limit)}</p>`)}
    <p class="told">${verdict.sentences.map(({ text }) => text).join(" ")}</p>
    ${drawHistoryLink(verdict, act)}
    <p class="sure">${howSure(verdict)}</p>
    ${verdict.remedy ? commandLine(verdict.remedy) : nothing}
    <button
      type="button"
      class="quiet"
      title="Copy as Markdown"
      aria-label="Copy the answer as Markdown"
      @click=${() => {
        void copied(verdict).then(act.say);
      }}
    >
      ${icon("copy")}
    </button>
  </section>`;
}

/** The way to all writes of the state that the verdict names. */
function drawHistoryLink({ write }: Verdict, { values }: VerdictActions): TemplateResult | typeof nothing {
  if (write === null || !values) return nothing;
  return html`<p>
    ${linkButton("Who else wrote it?", () => {
      values({ event: write });
    })}
  </p>`;
}

/** The failed test with its suspects, each with its evidence, and the way to its values. */
function drawFailedTest(failed: FailedTest, { workspace, reveal, values }: VerdictActions): TemplateResult {
  const more = failed.moreSuspects;
  return html`<p class="told">
      ${failed.test} ${failed.outcome}${failed.exception ? `: ${failed.exception}` : ""}
      ${placeLink(failed.location, workspace, reveal)}
    </p>
    ${failed.limits.map((limit) => html`<p class="limit">${sentence(limit)}</p>`)}
    <ol class="suspects" aria-label="Suspects">
      ${failed.suspects.map(
        (suspect) =>
          html`<li>
            <strong>${suspect.title}</strong> ${placeLink(suspect.location, workspace, reveal)}
            ${suspect.evidence.join("; ")}
          </li>`,
      )}
    </ol>
    ${more > 0 ? html`<p class="sure">${count(more, "more function")} ran in the test.</p>` : nothing}
    ${
      values
        ? html`<p>
            ${linkButton(
              "Why are its values so?",
              () => {
                values({ test: failed.test });
              },
              "A second look: see what would run again, and how long it takes",
            )}
          </p>`
        : nothing
    }
    <p class="sure">${`How sure: ${failed.sure}`}</p>`;
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
