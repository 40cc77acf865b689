/** The answer of a second look: the chain of values next to its code, what did not run, the likeliest lines and the suspects. */
import { html, nothing, type TemplateResult } from "lit";
import type { FailedTest, Location, Omitted, ValueAnswer, ValueStepText } from "../../../shared/protocol";
import { notice, placeLink } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";
import { count, duration } from "../../ui/text/format";

export interface ChainActions {
  workspace: string;
  /** The place of the selected step, -1 for none. */
  selected: number;
  select(number: number): void;
  reveal(location: Location): void;
}

export function drawChain(title: string, answer: ValueAnswer, act: ChainActions): TemplateResult {
  return html`<section class="summary">
      <h2>${title}</h2>
      <p class="numbers">
        ${`Second look: ${count(answer.instructions, "instruction")} in ${duration(answer.seconds * 1e9)}`}
      </p>
    </section>
    ${answer.notes.map((note) => notice("info", note))}
    <div class="table-room">
      <table class="value-rows" aria-label="Chain of values">
        <thead>
          <tr>
            <th scope="col">Value</th>
            <th scope="col">Code</th>
          </tr>
        </thead>
        <tbody ${oneStop()}>
          ${answer.steps.map((step, number) => drawStep(step, number, act))}
        </tbody>
      </table>
    </div>
    ${answer.moreSteps > 0 ? html`<p class="value-part quiet">${count(answer.moreSteps, "further cause")} not shown.</p>` : nothing}
    ${drawOmitted("What could have changed these values and did not", answer.omitted, act)}`;
}

/** What is known of a failed test besides the chain of its values. */
export function drawFailed(failed: FailedTest, act: ChainActions): TemplateResult {
  return html`${drawOmitted("What similar passing tests ran and this test did not", failed.unreached, act)}
    ${
      failed.lines.length > 0
        ? html`<section class="value-part">
            <h3>Likeliest lines</h3>
            <ol>
              ${failed.lines.map(
                ({ title, location, source, evidence }) =>
                  html`<li>
                    <code>${source}</code> ${link(location, act)}
                    <span class="quiet">${title} · ${evidence}</span>
                  </li>`,
              )}
            </ol>
          </section>`
        : nothing
    }
    ${
      failed.suspects.length > 0
        ? html`<section class="value-part">
            <h3>Suspects</h3>
            <ol>
              ${failed.suspects.map(
                ({ title, location, evidence }) =>
                  html`<li><strong>${title}</strong> ${link(location, act)} ${evidence.join("; ")}</li>`,
              )}
            </ol>
            ${failed.moreSuspects > 0 ? html`<p class="quiet">${count(failed.moreSuspects, "more function")} ran in the test.</p>` : nothing}
          </section>`
        : nothing
    }
    <section class="value-part">
      ${failed.limits.map((limit) => html`<p class="quiet">${limit}</p>`)}
      <p class="quiet">${`How sure: ${failed.sure}`}</p>
    </section>`;
}

function drawStep(step: ValueStepText, number: number, act: ChainActions): TemplateResult {
  const keys = rowKeys(() => {
    act.select(number);
  });
  const isSelected = number === act.selected;
  return html`<tr
    class=${isSelected ? "selected" : ""}
    tabindex="-1"
    aria-current=${isSelected ? "true" : "false"}
    @click=${keys.click}
    @keydown=${keys.keydown}
  >
    <th scope="row">
      <span class=${step.isControl ? "control" : ""} .style=${`--depth: ${step.depth}`}
        >${step.isControl ? "this ran because " : ""}${step.text}</span
      >
    </th>
    <td>
      <code>${step.source}</code>
      ${link(step.location, act)}
    </td>
  </tr>`;
}

function drawOmitted(title: string, omitted: readonly Omitted[], act: ChainActions): TemplateResult | typeof nothing {
  if (omitted.length === 0) return nothing;
  return html`<section class="value-part">
    <h3>${title}</h3>
    <ul>
      ${omitted.map(
        ({ text, location, steps }) =>
          html`<li>
            ${text} ${link(location, act)}
            ${steps.map(
              (step) =>
                html`<div class="value-decision" .style=${`--depth: ${step.depth}`}>
                  ${step.isControl ? "This ran because " : ""}${step.text} ${link(step.location, act)}
                </div>`,
            )}
          </li>`,
      )}
    </ul>
  </section>`;
}

function link(location: Location | null, act: ChainActions): TemplateResult | typeof nothing {
  return placeLink(location, act.workspace, (place) => {
    act.reveal(place);
  });
}
