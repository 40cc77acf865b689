/**
 * Two runs compared by requests: changed categories, the most expensive first, and the flows of one category.
 *
 * Invariant: before is orange, after is blue, and each also has its own sign; every change has its numbers next to it.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { CompareGraph, CompareParams, CompareResult } from "../../../shared/protocol";
import { drawCategories } from "./categoryTable";
import { drawCategory } from "./categoryDetails";
import { flowLegend } from "./flow/draw/legend";
import { emptyState, notice, RECORD_COMMAND } from "../../ui/parts";
import { pairPickers } from "../../comparison/runPickers";
import type { RequestsQuestion } from "./question";
import { filterCategories } from "./model";
import { type Flow, flowOf, searchable } from "./flow/model/flow";
import { FLOW_MODES } from "./flow/model/mode";
import { arrows, count } from "../../ui/text/format";
import { search, type Searchable } from "../../graph/model";
import { completePair } from "../../comparison/runPair";
import { PairView } from "../../comparison/view";
import { FlowSection } from "./flow/section";

interface Answer {
  params: CompareParams;
  result: CompareResult;
  flow: Flow | undefined;
  graph: Searchable | undefined;
}

export class RequestsView extends PairView<RequestsQuestion, Answer> {
  private readonly requestFlow = new FlowSection({
    mode: () => this.context.question.mode ?? FLOW_MODES[0],
    setMode: (mode) => {
      this.context.remember({ ...this.context.question, mode });
    },
    selected: () => this.selected,
    select: (ids) => {
      this.choose(ids);
    },
    found: () => {
      const { search: text } = this.context.store.state.place;
      return this.answer?.graph && text ? search(this.answer.graph, text) : [];
    },
    direction: () => this.context.store.state.place.flow,
    setDirection: (flow) => {
      this.context.look({ flow });
    },
    open: (id) => {
      this.context.reveal(this.answer?.graph?.byId.get(id)?.location ?? null);
    },
    changed: () => {
      this.context.store.changed();
    },
  });

  async open(question: RequestsQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    const { mode: _mode, ...wanted } = question;
    const params = this.complete(wanted);
    if (!params.before[0] || !params.after[0]) return;
    const result = await this.context.request("clew/compare", params);
    if (!isNewest()) return;
    const flow = result.graph ? flowOf(result.graph) : undefined;
    this.handle({ params, result, flow, graph: flow && searchable(flow) });
  }

  override handle(answer: Answer): void {
    const { graph, thresholds } = answer.result;
    if (answer.flow && graph) this.requestFlow.show(answer.flow, `${graph.category} ${graph.other}`, thresholds);
    super.handle(answer);
  }

  override key(event: KeyboardEvent): boolean {
    return super.key(event) || this.requestFlow.key(event);
  }

  shownRun(): string | undefined {
    return this.answer?.result.after[0]?.id;
  }

  found(): { matches: number; all: number } {
    const rows = this.answer?.result.rows ?? [];
    return { matches: filterCategories(rows, this.context.store.state.place.search).length, all: rows.length };
  }

  controls(): TemplateResult | typeof nothing {
    const { runs } = this.context.store.state;
    const { answer } = this;
    const params = answer?.params ?? this.complete(this.context.question);
    if (runs.length < 2) return nothing;
    return pairPickers(
      runs,
      { before: params.before[0] ?? "", after: params.after[0] ?? "" },
      ({ before, after }) => {
        this.ask({ before: [before], after: [after], category: "", precursor: "" });
      },
      answer && answer.result.names.length > 1 ? this.namePicker(answer) : undefined,
    );
  }

  draw(): TemplateResult {
    const { runs, runsKnown } = this.context.store.state;
    // Two requests of one run can be compared, too.
    if (runsKnown && runs.length < 2 && this.context.question.before.length === 0) {
      return html`<div class="view">
        ${emptyState(
          runs.length === 0 ? "No run yet" : "A second run is needed",
          "Record the program before and after a change, with a spec that marks requests, then compare the runs:",
          RECORD_COMMAND.replace("run", "run --spec app.esl --name before"),
        )}
      </div>`;
    }
    const answer = this.answer;
    return html`<div class="view diff compare ${this.requestFlow.wide ? "wide" : ""}">
      ${answer ? this.drawAnswer(answer) : this.drawWaiting()}
    </div>`;
  }

  private namePicker({ params, result }: Answer): TemplateResult {
    const rare = params.request && !result.names.includes(params.request);
    const names = rare ? [...result.names, params.request ?? ""] : result.names;
    return html`<label class="picker">
      <span class="word">Requests</span>
      <select
        aria-label="Requests of one name"
        @change=${(event: Event) => {
          this.ask({ request: (event.target as HTMLSelectElement).value, category: "", precursor: "" });
        }}
      >
        <option value="" .selected=${!params.request}>all</option>
        ${names.map((name) => html`<option value=${name} .selected=${name === params.request}>${name}</option>`)}
        ${
          result.hiddenNames > 0
            ? html`<option disabled>and ${count(result.hiddenNames, "rarer name")}</option>`
            : nothing
        }
      </select>
    </label>`;
  }

  private drawAnswer({ result, params }: Answer): TemplateResult {
    const { place } = this.context.store.state;
    if (result.rows.length === 0) {
      return emptyState("Nothing to compare", result.message || "Neither run has requests.");
    }
    const rows = filterCategories(result.rows, place.search);
    const chosen = result.graph?.category ?? "";
    return html`
      <section class="finding">
        <h2 class="sentence">${arrows(result.sentence)}</h2>
        ${result.message ? notice("info", result.message) : nothing}
        <details>
          <summary>When is a difference significant?</summary>
          ${result.certainty ? html`<p class="numbers">${result.certainty}</p>` : nothing}
          <p class="numbers">${result.explanation}</p>
        </details>
      </section>
      <div class="diff-parts">
        <div class="diff-table">
          ${drawCategories(rows, chosen, (category) => {
            this.ask({ category, precursor: "" });
          })}
          ${rows.length === 0 ? html`<p class="muted pad">No matches.</p>` : nothing}
          ${
            result.hiddenRows > 0
              ? notice(
                  "info",
                  `${count(result.hiddenRows, "more category")} without a change, or with a smaller one.`,
                  {
                    name: "Show more",
                    run: () => {
                      this.ask({ maxRows: (params.maxRows ?? 200) + result.rows.length });
                    },
                  },
                )
              : nothing
          }
        </div>
        <div class="main">${result.graph ? this.drawGraph(result, result.graph) : nothing}</div>
      </div>
    `;
  }

  private drawGraph(result: CompareResult, graph: CompareGraph): TemplateResult {
    const rows = result.rows.filter((row) => row.category === graph.category);
    return html`
      ${drawCategory(graph, rows, this.context.store.state.workspace, {
        beside: (precursor) => {
          this.ask({ category: graph.category, precursor });
        },
        reveal: (location) => {
          this.context.reveal(location);
        },
        words: this.requestFlow.drawWords(),
      })}
      ${this.requestFlow.draw()} ${flowLegend()}
    `;
  }

  private ask(change: Partial<CompareParams>): void {
    const params = this.answer?.params ?? this.complete(this.context.question);
    const { mode = FLOW_MODES[0] } = this.context.question;
    this.context.ask({ ...params, mode, ...change });
  }

  private complete(asked: CompareParams): CompareParams {
    const { runs, baseline } = this.context.store.state;
    const pair = completePair(runs, baseline, { before: asked.before[0] ?? "", after: asked.after[0] ?? "" });
    return {
      ...asked,
      before: asked.before[0] ? asked.before : [pair.before],
      after: asked.after[0] ? asked.after : [pair.after],
    };
  }
}
