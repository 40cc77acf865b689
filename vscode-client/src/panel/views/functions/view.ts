/**
 * Two runs compared by functions: the finding as a sentence, the functions ranked by change, and the union of both graphs.
 *
 * Invariant: before is orange, after is blue, and each also has its own sign.
 */
import { html, nothing, type TemplateResult } from "lit";
import { brokenName } from "../../ui/text/nameBreaks";
import type { DiffParams, DiffResult } from "../../../shared/protocol";
import "../../graph/element";
import { bar, diffLegend, emptyState, notice, placeLink, RECORD_COMMAND } from "../../ui/parts";
import { pairPickers } from "../../comparison/runPickers";
import { oneStop, rowKeys } from "../../ui/rows";
import { type DiffLine, diffLines, filterRows } from "./model";
import { arrows, count, duration, shortLabel } from "../../ui/text/format";
import { fromDiff, type PanelGraph, search } from "../../graph/model";
import { completePair } from "../../comparison/runPair";
import type { Place } from "../../app/place";
import { PairView } from "../../comparison/view";

interface Answer {
  params: DiffParams;
  result: DiffResult;
  graph: PanelGraph;
}

export class FunctionsView extends PairView<DiffParams, Answer> {
  async open(question: DiffParams): Promise<void> {
    const isNewest = this.newest.begin();
    const params = this.complete(question);
    if (!params.before || !params.after) return;
    const result = await this.context.request("clew/diff", params);
    if (isNewest()) this.handle({ params, result, graph: fromDiff(result) });
  }

  shownRun(): string | undefined {
    return this.answer?.result.after.id;
  }

  found(): { matches: number; all: number } {
    const rows = this.answer?.result.rows ?? [];
    return { matches: filterRows(rows, this.context.store.state.place.search).length, all: rows.length };
  }

  controls(): TemplateResult | typeof nothing {
    const { runs } = this.context.store.state;
    const params = this.answer?.params ?? this.complete(this.context.question);
    return runs.length < 2
      ? nothing
      : pairPickers(runs, params, (pair) => {
          // Who chooses a pair means one run with one.
          this.context.ask({ ...params, ...pair, alsoBefore: [], alsoAfter: [] });
        });
  }

  draw(): TemplateResult {
    const { runs, runsKnown } = this.context.store.state;
    if (runsKnown && runs.length < 2) {
      return html`<div class="view">
        ${emptyState(
          runs.length === 0 ? "No run yet" : "A second run is needed",
          "Record the program before and after a change, then compare the runs:",
          RECORD_COMMAND.replace("run", "run --name before"),
        )}
      </div>`;
    }
    const answer = this.answer;
    return html`<div class="view diff">${answer ? this.drawAnswer(answer) : this.drawWaiting()}</div>`;
  }

  private drawAnswer({ result, graph, params }: Answer): TemplateResult {
    const { place, workspace } = this.context.store.state;
    if (result.rows.length === 0) {
      return emptyState("Nothing to compare", result.message || "Neither run recorded any function.");
    }
    const rows = filterRows(result.rows, place.search);
    return html`
      <section class="finding">
        <h2 class="sentence">${arrows(result.sentence)}</h2>
        <p class="numbers">
          <span class="before">− ${duration(result.totalBeforeNs)}</span> →
          <span class="after">+ ${duration(result.totalAfterNs)}</span>
          of recorded work in total
        </p>
        ${result.order ? html`<p class="numbers">${result.order}</p>` : nothing}
        ${result.counted ? notice("info", result.counted) : nothing}
        ${result.message ? notice("info", result.message) : nothing}
      </section>
      <div class="diff-parts">
        <div class="diff-table">
          <table class="diff-rows function-rows">
            <colgroup>
              <col class="name" />
              <col class="bars" />
              <col class="change" />
              <col class="calls" />
              <col class="per-call" />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Function</th>
                <th scope="col" class="bars" title="Above before, below after">Self time</th>
                <th scope="col" class="number">Change</th>
                <th scope="col" class="number">Calls</th>
                <th scope="col" class="number">Per call</th>
              </tr>
            </thead>
            <tbody ${oneStop()}>
              ${diffLines(rows).map((line) => this.drawRow(line, graph, workspace))}
            </tbody>
          </table>
          ${rows.length === 0 ? html`<p class="muted pad">No matches.</p>` : nothing}
          ${
            result.hiddenRows > 0
              ? notice("info", `${count(result.hiddenRows, "more function")} with a smaller change.`, {
                  name: "Show more",
                  run: () => {
                    this.context.ask({ ...params, maxRows: result.rows.length + Math.max(100, result.rows.length) });
                  },
                })
              : nothing
          }
        </div>
        <div class="main">
          <clew-graph
            .graph=${graph}
            .selected=${this.selected}
            .found=${place.search ? search(graph, place.search) : []}
            .showPath=${false}
            .flow=${place.flow}
            .label=${`Functions of both runs: ${count(graph.nodes.length, "node")}`}
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
        </div>
      </div>
    `;
  }

  private drawRow(line: DiffLine, graph: PanelGraph, workspace: string): TemplateResult {
    const { row } = line;
    const nodes = graph.nodes
      .filter((node) => node.id === row.label || node.label === row.label)
      .map((node) => node.id);
    const chosen = nodes.some((id) => this.selected.includes(id));
    const keys = rowKeys(() => {
      this.choose(nodes);
      this.context.reveal(row.location);
    });
    return html`<tr
      class="${row.status} ${line.trend} ${chosen ? "selected" : ""}"
      tabindex="-1"
      aria-current=${chosen ? "true" : "false"}
      @click=${keys.click}
      @keydown=${keys.keydown}
    >
      <th scope="row" title=${row.label}>
        <span class="name"
          ><span class="mark" aria-hidden="true"
            >${row.status === "before" ? "−" : row.status === "after" ? "+" : ""}</span
          >${brokenName(shortLabel(row.label))}</span
        >
        ${placeLink(row.location, workspace, (location) => {
          this.context.reveal(location);
        })}
      </th>
      <td class="bars">
        <span class="bar-line"
          ><svg aria-hidden="true">${bar("before", line.before)}</svg><span>${duration(row.selfBeforeNs)}</span></span
        >
        <span class="bar-line"
          ><svg aria-hidden="true">${bar("after", line.after)}</svg><span>${duration(row.selfAfterNs)}</span></span
        >
        ${row.waitsFinding ? html`<small>waits ${duration(row.waitsBeforeNs)} → ${duration(row.waitsAfterNs)}</small>` : nothing}
      </td>
      <td class="number change">
        <span class="whole"
          ><span class="trend" aria-label=${line.trend}
            >${line.trend === "slower" ? "▲" : line.trend === "faster" ? "▼" : ""}</span
          >
          ${line.change}</span
        >
        ${line.factor ? html`<small>${line.factor}</small>` : nothing}
      </td>
      <td class="number">${steps(line.calls)}</td>
      <td class="number">${steps(line.perCall)}</td>
    </tr>`;
  }

  private complete(asked: DiffParams): DiffParams {
    const { runs, baseline } = this.context.store.state;
    return { ...asked, ...completePair(runs, baseline, asked) };
  }
}

/** `a → b` breaks only at its arrow. */
function steps(text: string): TemplateResult[] {
  return text.split(/(?<= →) /).map((part) => html`<span class="whole">${part}</span> `);
}
