/** Lists the answers of a report and what it leaves out. */
import { html, nothing, type TemplateResult } from "lit";
import { linkButton } from "../../ui/parts";
import { runTitle } from "../../ui/runs";
import { thousands } from "../../ui/text/format";
import type { ReportData, ReportEntry } from "../../report/answers";
import { matcher } from "../../ui/searchMatch";
import type { Context, View } from "../contract";

export class ContentsView implements View {
  constructor(
    private readonly context: Context,
    private readonly data: ReportData,
  ) {}

  open(): Promise<void> {
    this.context.store.changed();
    return Promise.resolve();
  }

  handle(): void {
    // There is nothing to ask.
  }

  unhandle(): void {
    // What it shows is in the file.
  }

  select(): void {
    // It shows no functions.
  }

  focus(): void {
    document.querySelector<HTMLElement>(".contents button")?.focus();
  }

  shownRun(): string {
    return this.data.run.id;
  }

  found(): { matches: number; all: number } {
    return { matches: this.matching.length, all: this.data.entries.length };
  }

  draw(): TemplateResult {
    const { run, runs, created, leftOut } = this.data;
    const sections = [...new Set(this.matching.map((entry) => entry.section))];
    return html`<div class="view scrolling contents">
      <section class="summary">
        <h2>${runTitle(run)}</h2>
        ${run.command ? html`<p class="numbers"><code>${run.command}</code></p>` : nothing}
        <p class="numbers">
          ${runs.runs.filter((one) => one.id !== run.id).map((one) => html`compared with ${runTitle(one)} · `)}
          ${thousands(this.data.answers.length)} answers, at most ${thousands(Math.ceil(this.data.limit / 1e6))} MB of
          them (<code>--limit</code>), written ${new Date(created).toLocaleString()}
        </p>
        ${run.problems.map((problem) => html`<p class="numbers">${problem}</p>`)}
      </section>
      ${sections.map(
        (section) =>
          html`<section class="pad">
            <h3>${section}</h3>
            <ul class="facts">
              ${this.matching.filter((entry) => entry.section === section).map((entry) => this.drawEntry(entry))}
            </ul>
          </section>`,
      )}
      ${
        leftOut.length > 0
          ? html`<section class="pad">
              <h3>Left out</h3>
              <p>The run itself has the rest: <code>clew view ${run.name}</code>, or open it in the editor.</p>
              <ul class="facts">
                ${leftOut.map((what) => html`<li class="muted">${what}</li>`)}
              </ul>
            </section>`
          : nothing
      }
    </div>`;
  }

  private get matching(): readonly ReportEntry[] {
    const matches = matcher(this.context.store.state.place.search);
    return this.data.entries.filter((entry) => matches(entry.title));
  }

  private drawEntry({ title, view, question, message }: ReportEntry): TemplateResult {
    return html`<li>
      ${linkButton(title, () => {
        this.context.go(view, question);
      })}
      ${message ? html`<small>${message}</small>` : nothing}
    </li>`;
  }
}
