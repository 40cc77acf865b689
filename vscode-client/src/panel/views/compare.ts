/**
 * Two runs compared by their requests: categories that changed, those that cost most first, and the flows of one as a graph.
 *
 * Invariant: before is orange, after is blue, and each also has a sign of its own; every change has its numbers beside it.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { CompareParams, CompareResult, CompareRow } from "../../shared/protocol";
import "../draw/graph";
import { asking, bar, diffLegend, emptyState, notice, placeLink, RECORD_COMMAND } from "../draw/parts";
import { pairPickers } from "../draw/pickers";
import { rowKeys } from "../draw/rows";
import {
  type CompareLine,
  compareLines,
  filterCategories,
  fromCompare,
  landmark,
  probability,
  slowerCalls,
  type SlowerCall,
} from "../model/compare";
import { arrows, count, duration, shortLabel, thousands } from "../model/format";
import { type PanelGraph, search } from "../model/graph";
import { completePair } from "../model/pair";
import type { Place } from "../model/place";
import { PairView } from "./pair";

/** Calls that are named before the rest is counted. */
const NAMED_CALLS = 4;

interface Answer {
  params: CompareParams;
  result: CompareResult;
  graph: PanelGraph | undefined;
}

export class CompareView extends PairView<CompareParams, Answer> {
  async open(question: CompareParams): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const params = this.complete(question);
    if (!params.before[0] || !params.after[0]) return;
    const result = await this.context.request("clew/compare", params);
    if (asked !== this.asked) return;
    this.handle({ params, result, graph: result.graph ? fromCompare(result.graph) : undefined });
  }

  shownRun(): string | undefined {
    return this.answer?.result.after[0]?.id;
  }

  found(): { matches: number; all: number } {
    const rows = this.answer?.result.rows ?? [];
    return { matches: filterCategories(rows, this.context.store.state.place.search).length, all: rows.length };
  }

  draw(): TemplateResult {
    const { runs, runsKnown, busy } = this.context.store.state;
    if (runsKnown && runs.length < 2) {
      return html`<div class="view">
        ${emptyState(
          runs.length === 0 ? "No run yet" : "One run is not enough",
          "Record the program before and after a change, with a spec that says where requests begin, then compare:",
          RECORD_COMMAND.replace("run", "run --spec app.esl --name before"),
        )}
      </div>`;
    }
    const answer = this.answer;
    const params = answer?.params ?? this.complete(this.context.question);
    return html`<div class="view diff compare">
      ${pairPickers(
        runs,
        { before: params.before[0] ?? "", after: params.after[0] ?? "" },
        ({ before, after }) => {
          this.ask({ before: [before], after: [after], category: "", precursor: "" });
        },
        answer && answer.result.names.length > 1 ? this.namePicker(answer) : undefined,
      )}
      ${
        answer
          ? this.drawAnswer(answer)
          : busy > 0
            ? asking("Comparing …")
            : emptyState("Which two runs?", "Choose the run before and the run after, above.")
      }
    </div>`;
  }

  private namePicker({ params, result }: Answer): TemplateResult {
    return html`<label class="picker">
      <span class="word">Requests</span>
      <select
        aria-label="Requests of one name"
        @change=${(event: Event) => {
          this.ask({ request: (event.target as HTMLSelectElement).value, category: "", precursor: "" });
        }}
      >
        <option value="" .selected=${!params.request}>all</option>
        ${result.names.map((name) => html`<option value=${name} .selected=${name === params.request}>${name}</option>`)}
      </select>
    </label>`;
  }

  private drawAnswer({ result, graph, params }: Answer): TemplateResult {
    const { place } = this.context.store.state;
    if (result.rows.length === 0) {
      return emptyState("Nothing to compare", result.message || "The two runs have no requests.");
    }
    const rows = filterCategories(result.rows, place.search);
    const chosen = result.graph?.category ?? "";
    return html`
      <section class="finding">
        <p class="sentence">${arrows(result.sentence)}</p>
        ${result.message ? notice("info", result.message) : nothing}
        <details>
          <summary>When does a difference count?</summary>
          <p class="numbers">${result.explanation}</p>
        </details>
      </section>
      <div class="diff-parts">
        <div class="diff-table">
          <table class="diff-rows compare-rows">
            <colgroup>
              <col class="name" />
              <col class="calls" />
              <col class="bars" />
              <col class="change" />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Requests of one flow</th>
                <th scope="col" class="number">Count</th>
                <th scope="col" class="bars" title="Above before, below after">Median time</th>
                <th scope="col" class="number" title="What it costs all requests of the flow decides the order">
                  Change
                </th>
              </tr>
            </thead>
            <tbody>
              ${compareLines(rows).map((line) => this.drawRow(line, chosen))}
            </tbody>
          </table>
          ${rows.length === 0 ? html`<p class="muted pad">No requests are called that.</p>` : nothing}
          ${
            result.hiddenRows > 0
              ? notice("info", `${count(result.hiddenRows, "more category")} that did not change, or cost less.`, {
                  name: "Show more",
                  run: () => {
                    this.ask({ maxRows: params.maxRows ?? 200 + result.rows.length });
                  },
                })
              : nothing
          }
        </div>
        <div class="main">${result.graph && graph ? this.drawGraph(result, graph) : nothing}</div>
      </div>
    `;
  }

  private drawRow(line: CompareLine, chosen: string): TemplateResult {
    const { row } = line;
    const isChosen = row.category === chosen;
    const keys = rowKeys(() => {
      this.ask({ category: row.category, precursor: "" });
    });
    const mark = row.kind === "structural" ? "+" : row.kind === "response-time" ? "▲" : "";
    return html`<tr
      class="${row.kind === "" ? "unchanged" : row.kind === "structural" ? "after" : "slower"} ${isChosen ? "selected" : ""}"
      tabindex="0"
      aria-current=${isChosen ? "true" : "false"}
      aria-label=${row.sentence}
      title=${row.sentence}
      @click=${keys.click}
      @keydown=${keys.keydown}
    >
      <th scope="row">
        <span class="name"><span class="mark" aria-hidden="true">${mark}</span>${row.name}</span>
        <span class="where">${[line.word, landmark(row)].filter(Boolean).join(" · ")}</span>
      </th>
      <td class="number">${line.counts}</td>
      <td class="bars">
        <span class="bar-line"
          ><svg aria-hidden="true">${bar("before", line.before)}</svg><span>${line.medianBefore}</span></span
        >
        <span class="bar-line"
          ><svg aria-hidden="true">${bar("after", line.after)}</svg><span>${line.medianAfter}</span></span
        >
      </td>
      <td class="number change">
        <span class="whole">${line.change}</span> ${line.factor ? html`<small>${line.factor}</small>` : nothing}
        ${line.sure ? html`<small>${line.sure}</small>` : nothing}
      </td>
    </tr>`;
  }

  private drawGraph(result: CompareResult, graph: PanelGraph): TemplateResult {
    const { place } = this.context.store.state;
    const shown = result.graph;
    const rows = result.rows.filter((row) => row.category === shown?.category);
    return html`
      ${shown ? this.drawDetail(result, rows, shown.other) : nothing}
      <clew-graph
        .graph=${graph}
        .selected=${this.selected}
        .found=${place.search ? search(graph, place.search) : []}
        .showPath=${false}
        .flow=${place.flow}
        .label=${`Calls of both flows: ${count(graph.nodes.length, "box")}`}
        @clew-select=${(event: CustomEvent<string[]>) => {
          this.choose(event.detail);
        }}
        @clew-open=${(event: CustomEvent<string>) => {
          this.context.reveal(graph.byId.get(event.detail)?.location ?? null);
        }}
        @clew-flow=${(event: CustomEvent<Place["flow"]>) => {
          this.context.look({ flow: event.detail });
        }}
      ></clew-graph>
      ${diffLegend()}
    `;
  }

  /** What is known of the chosen category: the calls that got slower, where it may come from, what tells its requests apart. */
  private drawDetail(result: CompareResult, rows: readonly CompareRow[], beside: string): TemplateResult {
    const { graph } = result;
    if (!graph) return html``;
    const calls = slowerCalls(rows.flatMap((row) => row.calls));
    const precursors = rows.flatMap((row) => row.precursors);
    const differences = rows.flatMap((row) => row.differences);
    return html`<section class="category" aria-label="The chosen requests">
      <h2>${graph.title}</h2>
      <p class="numbers">${arrows(graph.sentence)}</p>
      ${
        calls.length > 0
          ? html`<ul class="facts" aria-label="Calls that got slower">
              ${calls.slice(0, NAMED_CALLS).map((call) => this.drawCall(call))}
              ${
                calls.length > NAMED_CALLS
                  ? html`<li class="muted">and ${count(calls.length - NAMED_CALLS, "more function")}</li>`
                  : nothing
              }
            </ul>`
          : nothing
      }
      ${
        precursors.length > 0
          ? html`<p class="numbers">
              It may come from
              ${precursors.slice(0, NAMED_CALLS).map(
                (one) =>
                  html`<button
                    type="button"
                    class="link"
                    aria-pressed=${one.category === beside ? "true" : "false"}
                    title=${one.sentence}
                    @click=${() => {
                      this.ask({ category: graph.category, precursor: one.category });
                    }}
                  >
                    one that had ${thousands(one.countBefore)}, now ${thousands(one.countAfter)}
                    (${Math.round(100 * one.likeness)} % alike)
                  </button> `,
              )}
            </p>`
          : nothing
      }
      ${differences.map((one) => html`<p class="numbers">${arrows(one.sentence)}</p>`)}
      ${
        graph.hiddenNodes > 0
          ? notice("info", `${count(graph.hiddenNodes, "more call")} that did not change are not drawn.`)
          : nothing
      }
    </section>`;
  }

  private drawCall(call: SlowerCall): TemplateResult {
    const { workspace } = this.context.store.state;
    const by = call.channel ? ` (by ${call.channel})` : "";
    return html`<li>
      <b>${shortLabel(call.label)}</b>${by}${call.calls > 1 ? `, ${call.calls} calls` : ""}: itself
      <span class="whole">${duration(call.ownBeforeNs)} → ${duration(call.ownAfterNs)}</span>,
      <span class="whole">${probability(call.p)}</span>
      ${placeLink(call.location, workspace, (location) => {
        this.context.reveal(location);
      })}
    </li>`;
  }

  private ask(change: Partial<CompareParams>): void {
    const params = this.answer?.params ?? this.complete(this.context.question);
    this.context.ask({ ...params, ...change });
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
