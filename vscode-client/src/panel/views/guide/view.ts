/**
 * A guide: its questions one at a time, then the findings, step by step as the server finds them.
 *
 * Invariant: a shown step belongs to the shown answers; going back repeats the request.
 */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { WizardParams, WizardQuestion, WizardResult, WizardRow, WizardStep } from "../../../shared/protocol";
import { loading, commandLine, linkButton, notice, placeLink } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";
import { count } from "../../ui/text/format";
import { ANALYSES, backTo, type Found, type GuideQuestion, nextStep, withStep } from "./model";
import type { Context, View } from "../contract";

/** Maximum length of a cell's text that does not wrap. */
const SHORT = 14;

export class GuideView implements View<GuideQuestion, WizardResult> {
  private known: Found | undefined;
  private readonly newest = new Newest();

  constructor(private readonly context: Context<GuideQuestion>) {}

  async open(guided: GuideQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    this.known = undefined;
    const { analysis, answers } = guided;
    if (!analysis) {
      this.context.store.changed();
      return;
    }
    const params: WizardParams = { analysis, answers };
    let step: number | undefined = 0;
    while (step !== undefined) {
      const result = await this.context.request("clew/wizard", { ...params, step });
      if (!isNewest()) return;
      this.handle(result);
      step = this.missing();
    }
  }

  handle(result: WizardResult): void {
    this.known = withStep(this.known ?? { asked: result, steps: [], saved: "", unsaved: "" }, result);
    this.context.store.changed();
    if (result.question) requestAnimationFrame(focusFirstChoice);
  }

  unhandle(): void {
    this.newest.forget();
    this.known = undefined;
    this.context.store.changed();
  }

  /** Nothing of a guide is a function of the source. */
  select(): void {
    return;
  }

  shownRun(): string | undefined {
    return this.known?.steps[0]?.run;
  }

  focus(): void {
    focusFirstChoice();
  }

  key(event: KeyboardEvent): boolean {
    if (event.key === "Backspace" && this.context.question.analysis) {
      this.back();
      return true;
    }
    const choices = document.querySelectorAll<HTMLElement>(".guide .choice");
    const chosen = /^[1-9]$/.test(event.key) ? choices[Number(event.key) - 1] : undefined;
    chosen?.click();
    return chosen !== undefined;
  }

  draw(): TemplateResult {
    const { analysis } = this.context.question;
    if (!analysis) return html`<div class="view scrolling guide">${this.drawAnalyses()}</div>`;
    const { busy } = this.context.store.state;
    const found = this.known;
    if (!found) return html`<div class="view">${busy > 0 ? loading("Analysing …") : nothing}</div>`;
    const { asked, steps } = found;
    const missing = nextStep(found);
    return html`<div class="view scrolling guide">
      <section class="summary">
        <h2>${asked.title}</h2>
        ${this.drawAnswers(asked)}
      </section>
      ${asked.message ? notice("info", asked.message) : nothing}
      ${asked.question ? this.drawQuestion(asked.question) : nothing}
      <ol class="found" aria-live="polite">
        ${steps.map((step, number) => this.drawStep(step, number))}
      </ol>
      ${missing === undefined ? nothing : loading(`Step ${missing + 1} of ${asked.steps} …`)}
      ${found.saved ? this.drawSaved(found.saved) : nothing}
      ${found.unsaved ? html`<section class="saved"><p>${found.unsaved}.</p></section>` : nothing}
    </div>`;
  }

  private drawAnalyses(): TemplateResult {
    return html`<section class="summary">
        <h2>What do you want to know?</h2>
      </section>
      ${choices(
        ANALYSES.map(({ name, title, what }) => ({ value: name, title, detail: what })),
        (value) => {
          const analysis = ANALYSES.find((one) => one.name === value)?.name;
          if (analysis) this.context.ask({ analysis, answers: [] });
        },
      )}`;
  }

  /** What was answered; a click asks that question again. */
  private drawAnswers({ asked }: WizardResult): TemplateResult {
    return html`<ul class="answers">
      ${asked.map(
        ({ question, title }, number) =>
          html`<li>
            <span class="quiet">${question}</span>
            ${linkButton(
              title,
              () => {
                this.context.ask(backTo(this.context.question, number));
              },
              "Change this answer",
            )}
          </li>`,
      )}
      <li>
        ${linkButton(`← ${asked.length > 0 ? "Previous question" : "Choose another analysis"}`, () => {
          this.back();
        })}
      </li>
    </ul>`;
  }

  private drawQuestion({ text, choices: given, hiddenChoices }: WizardQuestion): TemplateResult {
    return html`<h3 class="asked">${text}</h3>
      ${choices(given, (value) => {
        const { answers, ...rest } = this.context.question;
        this.context.ask({ ...rest, answers: [...answers, value] });
      })}
      ${hiddenChoices > 0 ? html`<p class="quiet">and ${count(hiddenChoices, "less likely one")}, not shown</p>` : nothing}`;
  }

  private drawStep(step: WizardStep, number: number): TemplateResult {
    const { view, params, code } = step;
    return html`<li class="step-found">
      <h3>${number + 1}. ${step.title}</h3>
      <p class="sentence">${step.sentence}</p>
      ${step.rows.length > 0 ? this.drawRows(step) : nothing}
      ${step.hiddenRows > 0 ? html`<p class="quiet">and ${count(step.hiddenRows, "more row")}, printed by the Python query</p>` : nothing}
      <div class="actions">
        ${
          view
            ? linkButton("Show it in the panel", () => {
                this.context.go(view, typeof params === "object" && params !== null ? params : {});
              })
            : nothing
        }
        ${
          code
            ? html`<details>
                <summary>In Python</summary>
                <pre><code>${code}</code></pre>
              </details>`
            : nothing
        }
      </div>
    </li>`;
  }

  private drawRows({ columns, rows, title }: WizardStep): TemplateResult {
    const { workspace } = this.context.store.state;
    const places = rows.some((row) => row.location);
    return html`<div class="table-room">
      <table aria-label=${title}>
        <thead>
          <tr>
            ${columns.map((column) => html`<th scope="col">${column}</th>`)}
            ${places ? html`<th scope="col">source</th>` : nothing}
          </tr>
        </thead>
        <tbody ${oneStop()}>
          ${rows.map((row) => {
            const keys = rowKeys(() => {
              this.reveal(row);
            });
            return html`<tr tabindex="-1" @click=${keys.click} @keydown=${keys.keydown}>
              ${row.cells.map((cell, place) => html`<td class=${cellClass(cell, columns[place])}>${cell}</td>`)}
              ${
                places
                  ? html`<td class="whole">
                      ${placeLink(row.location, workspace, (location) => {
                        this.context.reveal(location);
                      })}
                    </td>`
                  : nothing
              }
            </tr>`;
          })}
        </tbody>
      </table>
    </div>`;
  }

  private drawSaved(path: string): TemplateResult {
    return html`<section class="saved">
      <p>
        The whole analysis as a Python query that you can edit and run:
        ${placeLink({ path, line: 1 }, this.context.store.state.workspace, (location) => {
          this.context.reveal(location);
        })}
      </p>
      ${commandLine(`python ${path}`)}
    </section>`;
  }

  private reveal({ location }: WizardRow): void {
    this.context.reveal(location);
  }

  /** The step to ask for next. */
  private missing(): number | undefined {
    return this.known && nextStep(this.known);
  }

  private back(): void {
    const { question } = this.context;
    this.context.ask(backTo(question, question.answers.length - 1));
  }
}

interface Choice {
  value: string;
  title: string;
  detail?: string;
}

function choices(given: readonly Choice[], choose: (value: string) => void): TemplateResult {
  return html`<ol class="choices">
    ${given.map(
      ({ value, title, detail }, number) =>
        html`<li>
          <button
            type="button"
            class="choice"
            @click=${() => {
              choose(value);
            }}
          >
            <kbd aria-hidden="true">${number < 9 ? number + 1 : ""}</kbd>
            <span class="title">${title}</span>
            <span class="detail">${detail}</span>
          </button>
        </li>`,
    )}
  </ol>`;
}

function focusFirstChoice(): void {
  document.querySelector<HTMLElement>(".guide .choice, .guide tbody tr")?.focus();
}

/** Code keeps its indentation, and what is short is not broken. */
function cellClass(cell: string, column: string | undefined): string {
  return column === "code" ? "code" : cell.length <= SHORT ? "whole" : "";
}
