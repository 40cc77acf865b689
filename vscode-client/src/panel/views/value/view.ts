/**
 * A value: the recorded history of its state, and the chain of values that a second look at a test finds.
 *
 * Invariant: a test runs again only if the user chose it: by the button, which names the test and the estimate, or by a question that says so.
 */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { HistoryResult, ValueResult } from "../../../shared/protocol";
import { neighbourOf } from "../../ui/listNavigation";
import { commandLine, emptyState, linkButton, loading, noRun, sentence } from "../../ui/parts";
import { count, duration } from "../../ui/text/format";
import type { Context, View } from "../contract";
import { type ChainActions, drawChain, drawFailed } from "./chain";
import { drawHistory, type HistoryActions } from "./history";
import { type Spacing, usualSpacing } from "./historyModel";
import { historyParams, type ValueQuestion, valueParams } from "./question";

interface Answer {
  /** Undefined where the question names no state. */
  history: HistoryResult | undefined;
  /** Undefined where no second look could answer the question. */
  value: ValueResult | undefined;
}

/** How many answers of second looks are kept for going back. */
const MOST_LOOKED = 8;

export class ValueView implements View<ValueQuestion, Answer> {
  private answer: Answer | undefined;
  private isLooking = false;
  private selectedStep = -1;
  private selectedWrite = -1;
  private spacing: Spacing = "time";
  private readonly newest = new Newest();
  /** Answers of second looks by their question. */
  private readonly looked = new Map<string, ValueResult>();

  constructor(private readonly context: Context<ValueQuestion>) {}

  async open(asked: ValueQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    const { isLook, ...question } = asked;
    // Going back to this place runs nothing again.
    if (isLook) this.context.remember(question);
    this.answer = undefined;
    this.isLooking = false;
    const [history, value] = [historyParams(question), valueParams(question)];
    const [found, plan] = await Promise.all([
      history ? this.context.request("clew/history", history) : undefined,
      value ? this.context.request("clew/value", { ...value, isLook: false }) : undefined,
    ]);
    if (!isNewest()) return;
    this.handle({ history: found, value: (plan && this.looked.get(keyOf(question, plan))) ?? plan });
    if (isLook) await this.look();
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.selectedStep = -1;
    this.selectedWrite = answer.history?.writes.findIndex(({ isMarked }) => isMarked) ?? -1;
    this.spacing = answer.history ? usualSpacing(answer.history) : "time";
    this.context.store.changed();
  }

  unhandle(): void {
    this.newest.forget();
    this.answer = undefined;
    this.isLooking = false;
    this.context.store.changed();
  }

  select(): void {
    return;
  }

  focus(): void {
    document.querySelector<HTMLElement>(".look-again, .history-rows tbody tr, .value-rows tbody tr")?.focus();
  }

  shownRun(): string | undefined {
    return (this.answer?.history ?? this.answer?.value)?.run.id;
  }

  /** Goes from write to write; the view has no search. */
  nextMatch(by: 1 | -1): void {
    const writes = this.answer?.history?.writes ?? [];
    const numbers = writes.map((_write, number) => number);
    const next = neighbourOf(numbers, this.selectedWrite, by);
    if (next !== undefined) this.selectWrite(next);
  }

  draw(): TemplateResult {
    const { busy, runs, runsKnown } = this.context.store.state;
    const { answer } = this;
    if (!answer) return html`<div class="view">${busy > 0 ? loading("Loading …") : nothing}</div>`;
    if (runs.length === 0 && runsKnown) return html`<div class="view">${noRun()}</div>`;
    const { history, value } = answer;
    if (!history && value?.message && !value.failed) {
      return html`<div class="view scrolling">
        ${emptyState("No value to explain", value.message)}
        ${value.command ? html`<div class="value-part">${commandLine(value.command)}</div>` : nothing}
        ${this.drawTests(value)}
      </div>`;
    }
    return html`<div class="view scrolling">
      ${history ? this.drawSummary(history) : nothing} ${history ? drawHistory(history, this.historyActions) : nothing}
      ${value ? this.drawValue(value) : nothing}
    </div>`;
  }

  private drawSummary(history: HistoryResult): TemplateResult {
    const { expression, state } = this.context.question;
    const asked = expression && expression !== history.state ? `${expression} · ${history.state}` : history.state;
    const several = history.objects > 1 ? ` of ${count(history.objects, "object")}` : "";
    const all = history.hiddenWrites + history.writes.length;
    return html`<section class="summary">
      <h2>${asked}</h2>
      ${history.last ? html`<p class="sentence">${sentence(history.last.sentence)}</p>` : nothing}
      ${all > 0 ? html`<p class="numbers">${count(all, "recorded write")}${several}</p>` : nothing}
      ${
        !state && all > 0
          ? html`<p>
              ${linkButton(
                `${history.state} of every object`,
                () => {
                  this.askState(history.state);
                },
                "Show the writes of this state in all objects",
              )}
            </p>`
          : nothing
      }
    </section>`;
  }

  private drawValue(value: ValueResult): TemplateResult {
    if (value.answer || value.failed) {
      const { expression } = this.context.question;
      const { failed, answer } = value;
      const title =
        !expression && failed?.exception ? `${value.test} failed: ${failed.exception}` : (answer?.title ?? value.test);
      return html`${
        answer
          ? drawChain(title, answer, this.chainActions)
          : html`<section class="summary">
              <h2>${title}</h2>
              <p>${sentence(value.message)}</p>
            </section>`
      }
      ${failed ? drawFailed(failed, this.chainActions) : nothing} ${this.drawTests(value)}`;
    }
    return html`<section class="value-part look">
        <h3>How the value came about</h3>
        ${this.drawPlan(value)}
      </section>
      ${this.drawTests(value)}`;
  }

  /** What would run, how long it takes, and the button for it. */
  private drawPlan(value: ValueResult): TemplateResult {
    if (value.message) {
      return html`<p>${sentence(value.message)}</p>
        ${value.command ? commandLine(value.command) : nothing}`;
    }
    const estimate = value.expectedNs > 0 ? `about ${duration(value.expectedNs)}` : "a few seconds";
    if (this.isLooking && this.context.store.state.busy > 0) {
      return html`<p role="status">Running ${value.test} again. This takes ${estimate} …</p>`;
    }
    const similar = value.similar > 0 ? ` and ${count(value.similar, "similar test")}` : "";
    const took = value.tookNs > 0 ? ` (${duration(value.tookNs)} in the run)` : "";
    return html`<p>
        ${this.isLooking ? "Stopped. " : ""}A second look runs <code>${value.test}</code>${took}${similar} again and
        follows its values: ${estimate}.
      </p>
      <p>
        <button type="button" class="look-again" @click=${() => void this.lookAgain()}>
          Run ${value.test.slice(value.test.lastIndexOf("::") + 1).replace(/^:/, "")} again
        </button>
      </p>`;
  }

  private async lookAgain(): Promise<void> {
    try {
      await this.look();
    } catch (error) {
      this.context.store.update({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  /** Takes the second look that the answer plans. */
  private async look(): Promise<void> {
    const plan = this.answer?.value;
    const question = this.context.question;
    const params = valueParams(question);
    if (!plan || plan.message || plan.answer || !params) return;
    const isNewest = this.newest.begin();
    this.isLooking = true;
    this.context.store.changed();
    const value = await this.context.request("clew/value", { ...params, test: plan.test, isLook: true });
    if (!isNewest()) return;
    this.isLooking = false;
    this.looked.set(keyOf(question, plan), value);
    const [oldest] = this.looked.keys();
    if (this.looked.size > MOST_LOOKED && oldest !== undefined) this.looked.delete(oldest);
    if (this.answer) this.answer = { ...this.answer, value };
    this.context.store.changed();
  }

  private get historyActions(): HistoryActions {
    return {
      workspace: this.context.store.state.workspace,
      spacing: this.spacing,
      selected: this.selectedWrite,
      select: (number) => {
        this.selectWrite(number);
      },
      reveal: (location) => {
        this.context.reveal(location);
      },
      setSpacing: (spacing) => {
        this.spacing = spacing;
        this.context.store.changed();
      },
      skip: (writes) => {
        this.context.ask({ ...this.context.question, skip: writes });
      },
      state: (name) => {
        this.askState(name);
      },
    };
  }

  private get chainActions(): ChainActions {
    return {
      workspace: this.context.store.state.workspace,
      selected: this.selectedStep,
      select: (number) => {
        this.selectedStep = number;
        this.context.store.changed();
        this.context.reveal(this.answer?.value?.answer?.steps[number]?.location ?? null);
      },
      reveal: (location) => {
        this.context.reveal(location);
      },
    };
  }

  private selectWrite(number: number): void {
    this.selectedWrite = number;
    this.context.store.changed();
    this.context.reveal(this.answer?.history?.writes[number]?.location ?? null);
    void Promise.resolve().then(() => {
      document.querySelector(".history-rows tr.selected")?.scrollIntoView({ block: "nearest" });
    });
  }

  private askState(state: string): void {
    const { run } = this.context.question;
    this.context.ask({ ...(run ? { run } : {}), state });
  }

  /** Other tests that called the function; a click shows what a second look at one of them would run. */
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
}

function keyOf({ expression, location }: ValueQuestion, { run, test }: ValueResult): string {
  return JSON.stringify([run.id, test, expression, location?.path, location?.line]);
}
