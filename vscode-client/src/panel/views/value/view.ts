/**
 * The chain of a value: each step is a line of the program with its values, next to its code.
 *
 * Invariant: the view tells which test runs again, and how long it took, before the request that runs it.
 */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { Omitted, ValueAnswer, ValueResult, ValueStepText } from "../../../shared/protocol";
import { commandLine, emptyState, linkButton, loading, notice, noRun, placeLink } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";
import { count, duration } from "../../ui/text/format";
import type { Context, View } from "../contract";
import type { ValueQuestion } from "./question";

export class ValueView implements View<ValueQuestion, ValueResult> {
  private result: ValueResult | undefined;
  private selected = -1;
  private readonly newest = new Newest();

  constructor(private readonly context: Context<ValueQuestion>) {}

  async open(asked: ValueQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    this.result = undefined;
    const plan = await this.context.request("clew/value", { ...asked, isLook: false });
    if (!isNewest()) return;
    this.handle(plan);
    if (plan.message) return;
    const result = await this.context.request("clew/value", { ...asked, test: plan.test, isLook: true });
    if (isNewest()) this.handle(result);
  }

  handle(result: ValueResult): void {
    this.result = result;
    this.selected = -1;
    this.context.store.changed();
  }

  unhandle(): void {
    this.newest.forget();
    this.result = undefined;
    this.context.store.changed();
  }

  select(): void {
    return;
  }

  focus(): void {
    document.querySelector<HTMLElement>(".value-rows tbody tr")?.focus();
  }

  shownRun(): string | undefined {
    return this.result?.run.id;
  }

  draw(): TemplateResult {
    const { busy, runs, runsKnown } = this.context.store.state;
    const { result } = this;
    const { expression: asked } = this.context.question;
    if (!result) return html`<div class="view">${busy > 0 ? loading("Loading …") : nothing}</div>`;
    if (result.answer) return this.drawAnswer(result, result.answer);
    if (!result.message) {
      const took = result.tookNs > 0 ? `, which took ${duration(result.tookNs)} in the run` : "";
      const words = `Running ${result.test} again${took}. Following its values takes a few seconds, two minutes at most …`;
      return html`<div class="view">
        ${busy > 0 ? loading(words) : emptyState("Stopped", `${result.test} was not followed to its end.`)}
      </div>`;
    }
    if (runs.length === 0 && runsKnown) return html`<div class="view">${noRun()}</div>`;
    return html`<div class="view scrolling">
      ${emptyState(asked ?? "No value to explain", result.message)}
      ${result.command ? html`<div class="value-part">${commandLine(result.command)}</div>` : nothing}
      ${this.drawTests(result)}
    </div>`;
  }

  private drawAnswer(result: ValueResult, answer: ValueAnswer): TemplateResult {
    const looked = `Second look: ${count(answer.instructions, "instruction")} in ${duration(answer.seconds * 1e9)}`;
    const { failed } = result;
    const title =
      this.context.question.expression || !failed?.exception
        ? answer.title
        : `${result.test} failed: ${failed.exception}`;
    return html`<div class="view scrolling">
      <section class="summary">
        <h2>${title}</h2>
        <p class="numbers">${looked}</p>
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
            ${answer.steps.map((step, number) => this.drawStep(step, number))}
          </tbody>
        </table>
      </div>
      ${answer.moreSteps > 0 ? html`<p class="value-part quiet">${count(answer.moreSteps, "further cause")} not shown.</p>` : nothing}
      ${this.drawOmitted(answer.omitted)} ${this.drawSuspects(result)} ${this.drawTests(result)}
    </div>`;
  }

  private drawStep(step: ValueStepText, number: number): TemplateResult {
    const { workspace } = this.context.store.state;
    const keys = rowKeys(() => {
      this.selected = number;
      this.context.store.changed();
      this.context.reveal(step.location);
    });
    const isSelected = number === this.selected;
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
        ${placeLink(step.location, workspace, (location) => {
          this.context.reveal(location);
        })}
      </td>
    </tr>`;
  }

  private drawOmitted(omitted: readonly Omitted[]): TemplateResult | typeof nothing {
    if (omitted.length === 0) return nothing;
    return html`<section class="value-part">
      <h3>What could have changed these values and did not</h3>
      <ul>
        ${omitted.map(({ text, location }) => html`<li>${text} ${this.link(location)}</li>`)}
      </ul>
    </section>`;
  }

  private drawSuspects({ failed }: ValueResult): TemplateResult | typeof nothing {
    if (!failed || failed.suspects.length === 0) return nothing;
    return html`<section class="value-part">
      <h3>Suspects</h3>
      <ol>
        ${failed.suspects.map(
          ({ title, location, evidence }) =>
            html`<li><strong>${title}</strong> ${this.link(location)} ${evidence.join("; ")}</li>`,
        )}
      </ol>
      <p class="quiet">How sure: ${failed.sure}</p>
    </section>`;
  }

  /** Other tests that called the function; a click follows the value in one of them. */
  private drawTests({ tests }: ValueResult): TemplateResult | typeof nothing {
    if (tests.length === 0) return nothing;
    return html`<section class="value-part">
      <h3>In another test</h3>
      <ul>
        ${tests.map(
          (test) =>
            html`<li>
              ${linkButton(test, () => {
                this.context.ask({ ...this.context.question, test });
              })}
            </li>`,
        )}
      </ul>
    </section>`;
  }

  private link(location: Omitted["location"]): TemplateResult | typeof nothing {
    return placeLink(location, this.context.store.state.workspace, (place) => {
      this.context.reveal(place);
    });
  }
}
