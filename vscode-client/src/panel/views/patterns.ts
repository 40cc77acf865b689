/**
 * What threads and tasks of a run do again and again: patterns by their share of the time, when they occur, what follows what.
 *
 * Invariant: patterns lie within others, so shares are shown beside each other and never added up. One pattern is chosen, in rows, times,
 * diagram and what follows what alike.
 */
import { html, nothing, svg, type TemplateResult } from "lit";
import { brokenName } from "../draw/breaks";
import type { PatternRow, PatternsParams, PatternsResult } from "../../shared/protocol";
import { asking, bar, emptyState, noRun, notice, placeLink } from "../draw/parts";
import "../draw/graph";
import type { GraphElement } from "../draw/graph";
import { patternSide } from "../draw/patternSide";
import { drawTimes } from "../draw/patternTimes";
import { oneStop, rowKeys } from "../draw/rows";
import { CLOSER } from "../draw/zoomControls";
import { arrows, count, duration, thousands } from "../model/format";
import { filterPatterns, patternRows, type PatternView, windowed } from "../model/patterns";
import { search } from "../model/graph";
import { stateId } from "../model/patternDiagram";
import { clock } from "../model/span";
import { stretchQuestion } from "../model/timeline";
import { PatternLooks } from "./patternLooks";
import type { Context, SelectedEvent, Selection, View } from "./view";

const MORE_PATTERNS = 50;
/** In a pattern, unless asked otherwise. */
const FEWEST_CALLS = 3;
/** Of the times' axis in px, where it has not been drawn yet. */
const AXIS = 600;

interface Answer {
  params: PatternsParams;
  result: PatternsResult;
}

export class PatternsView implements View<PatternsParams, Answer> {
  private answer: Answer | undefined;
  private asked = 0;
  private selected = "";
  /** A state of the diagram. */
  private state = "";
  private readonly looks: PatternLooks;

  constructor(private readonly context: Context<PatternsParams>) {
    this.looks = new PatternLooks(context);
  }

  async open(params: PatternsParams): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    // Which pattern is chosen, and which time is looked at, is asked for by closer looks.
    const { pattern: _pattern, fromNs: _from, toNs: _to, ...question } = params;
    const result = await this.context.request("clew/patterns", question);
    if (asked === this.asked) this.handle({ params, result });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    const { params, result } = answer;
    const [first] = result.patterns;
    this.selected = result.patterns.find((row) => row.id === params.pattern)?.id ?? first?.id ?? "";
    this.state = this.startState();
    if (this.selected) this.looks.look({ ...params, run: result.run.id, pattern: this.selected }, this.state, false);
    else this.looks.forget();
    this.context.store.changed();
  }

  unhandle(): void {
    this.answer = undefined;
    this.asked += 1;
    this.looks.forget();
    this.context.store.changed();
  }

  /** The chosen pattern where the function is called in it, else the first in which it is. */
  select({ label }: Selection): void {
    const rows = this.answer?.result.patterns ?? [];
    const calls = (row: PatternRow): boolean => row.outline.some((line) => line.label === label);
    const chosen = rows.find((row) => row.id === this.selected);
    const found = chosen && calls(chosen) ? chosen : rows.find(calls);
    if (found && found !== chosen) this.choose(found.id);
    this.state = stateId({ label, what: "entered" });
    this.context.store.changed();
  }

  focus(): void {
    document.querySelector<HTMLElement>(".pattern-rows tbody tr.selected, .pattern-rows tbody tr")?.focus();
  }

  key(event: KeyboardEvent): boolean {
    const { element } = this;
    if (event.key === "f" && element) element.fit();
    else if (["+", "="].includes(event.key) && element) element.zoomBy(CLOSER);
    else if (event.key === "-" && element) element.zoomBy(1 / CLOSER);
    else if (event.key === "t") void this.showTime();
    else return this.looks.key(event);
    return true;
  }

  shownRun(): string | undefined {
    return this.answer?.result.run.id;
  }

  found(): { matches: number; all: number } {
    const rows = this.answer?.result.patterns ?? [];
    return { matches: filterPatterns(rows, this.context.store.state.place.search).length, all: rows.length };
  }

  /** Where nothing is searched for: the next occurrence. */
  nextMatch(by: 1 | -1): void {
    const { search: wanted } = this.context.store.state.place;
    if (!wanted) {
      void this.looks.step(by);
      return;
    }
    const rows = filterPatterns(this.answer?.result.patterns ?? [], wanted);
    const at = rows.findIndex((row) => row.id === this.selected);
    const next = rows[(Math.max(at, by === 1 ? -1 : 0) + by + rows.length) % Math.max(rows.length, 1)];
    if (next) this.choose(next.id);
  }

  draw(): TemplateResult {
    const answer = this.answer;
    const { busy, runs, runsKnown, place, workspace } = this.context.store.state;
    if (runsKnown && runs.length === 0) {
      return html`<div class="view">${noRun()}</div>`;
    }
    if (!answer) return html`<div class="view">${busy > 0 ? asking("Finding what repeats …") : nothing}</div>`;
    const { result, params } = answer;
    if (result.patterns.length === 0) {
      return html`<div class="view">
        ${emptyState("Nothing repeats", result.message || "No thread or task does anything twice.")}
        ${
          result.events > 0 && (params.calls ?? FEWEST_CALLS) > 1
            ? notice(
                "info",
                `Only patterns of ${count(params.calls ?? FEWEST_CALLS, "call")} or more were looked for.`,
                {
                  name: "Look for smaller ones",
                  run: () => {
                    this.context.ask({ ...params, calls: 1 });
                  },
                },
              )
            : nothing
        }
      </div>`;
    }
    const { times } = this.looks;
    const here = this.looks.isWindow && times ? windowed(result.patterns, times.inside) : result.patterns;
    const rows = patternRows(result, filterPatterns(here, place.search));
    const chosen = result.patterns.find((row) => row.id === this.selected);
    return html`<div class="view with-side patterns">
      <div class="main scrolling-part">
        <section class="summary pad">
          <h2 class="sentence">${arrows(result.sentence)}</h2>
          ${result.message ? notice("info", result.message) : nothing}
          ${this.drawWindow(result.patterns.length, here.length)}
          <details>
            <summary>What counts as a pattern?</summary>
            <p class="numbers">${result.explanation}</p>
          </details>
        </section>
        <div class="pattern-table">
          <table class="diff-rows pattern-rows">
            <colgroup>
              <col class="name" />
              <col class="share" />
              <col class="when" />
              <col class="times" />
              <col class="mean" />
            </colgroup>
            <thead>
              <tr>
                <th scope="col">Pattern</th>
                <th scope="col" title="Of the time of all threads and tasks; the darker part is work, the rest waiting">
                  Share of the time
                </th>
                <th scope="col">When</th>
                <th scope="col" class="number">Times</th>
                <th scope="col" class="number">Each</th>
              </tr>
            </thead>
            <tbody ${oneStop()}>
              ${rows.map((one) => this.drawRow(one, one.row.id === chosen?.id))}
            </tbody>
          </table>
          ${rows.length === 0 ? html`<p class="muted pad">${place.search ? "No pattern has that in it." : "No pattern occurs in this window."}</p>` : nothing}
          ${
            result.hiddenPatterns > 0
              ? notice("info", `${count(result.hiddenPatterns, "more pattern")} that take less time.`, {
                  name: "Show more",
                  run: () => {
                    const maxPatterns = result.patterns.length + MORE_PATTERNS;
                    this.context.ask({ ...params, maxPatterns });
                  },
                })
              : nothing
          }
        </div>
        ${chosen ? [this.drawTimes(chosen), this.drawDiagram()] : nothing}
      </div>
      ${
        chosen
          ? patternSide(result, chosen, workspace, {
              choose: (id) => {
                this.choose(id);
              },
              reveal: (location) => {
                this.context.reveal(location);
              },
              showTime: () => {
                void this.showTime();
              },
            })
          : nothing
      }
    </div>`;
  }

  private drawRow(one: PatternView, isChosen: boolean): TemplateResult {
    const { row } = one;
    const keys = rowKeys(() => {
      this.choose(row.id);
    });
    // Once it is chosen, Enter leads to its code.
    const keydown = (event: KeyboardEvent): void => {
      if (event.key === "Enter" && isChosen && event.target === event.currentTarget) this.context.reveal(row.location);
      else keys.keydown(event);
    };
    const said = `${one.title}: ${one.percent} of the time, ${one.count} times, ${one.mean} each`;
    return html`<tr
      class=${isChosen ? "selected" : ""}
      tabindex="-1"
      aria-current=${isChosen ? "true" : "false"}
      aria-label=${said}
      @click=${keys.click}
      @keydown=${keydown}
      @dblclick=${() => void this.showTime()}
    >
      <th scope="row" title=${one.title}>
        <span class="name">${brokenName(one.title)}</span>
        <span class="where"
          >${[one.size, row.raised > 0 ? `${thousands(row.raised)} raise` : ""].filter(Boolean).join(" · ")}</span
        >
      </th>
      <td class="share">
        <span class="bar-line"
          ><svg aria-hidden="true">${bar("wait", one.share)}${bar("self", one.work)}</svg
          ><span>${one.percent}</span></span
        >
      </td>
      <td class="when">
        <svg aria-hidden="true">
          <rect class="track" width="100%" height="100%" rx="2" />
          ${one.spans.map(
            ({ start, length }) =>
              svg`<rect class="occurs" x="${100 * start}%" width="${100 * length}%" height="100%" />`,
          )}
        </svg>
      </td>
      <td class="number">${one.count}</td>
      <td class="number">${one.mean}</td>
    </tr>`;
  }

  /** What the table is of, where that is less than the run. */
  private drawWindow(all: number, here: number): TemplateResult | typeof nothing {
    const { isWindow, span, times } = this.looks;
    if (!isWindow || !times) return nothing;
    return html`<p class="window-said" role="status">
      From ${clock(span.from)} to ${clock(span.to)}: ${here} of ${count(all, "pattern")}; shares and times are of this
      window.
      <button
        type="button"
        class="link"
        @click=${() => {
          this.looks.show(this.looks.all);
        }}
      >
        Show the whole run
      </button>
    </p>`;
  }

  private drawTimes(row: PatternRow): TemplateResult {
    const { times, span, occurrence, problem } = this.looks;
    const width = document.querySelector(".times-whole")?.clientWidth ?? AXIS;
    return html`<section class="pattern-part" aria-label="When it occurs">
      <h3>When: ${row.title}</h3>
      ${
        times
          ? html`${drawTimes(times, span, width, occurrence, {
              show: (next) => {
                this.looks.show(next);
              },
              pick: (strand, ns, opened) => {
                void this.pick(strand, ns, opened);
              },
            })}
            ${this.drawOccurrence(row)}`
          : problem
            ? nothing
            : asking("Looking at when …")
      }
      ${problem ? notice("info", problem) : nothing}
    </section>`;
  }

  private drawOccurrence(row: PatternRow): TemplateResult {
    const { occurrence, count: all } = this.looks;
    const step = (by: 1 | -1, name: string, title: string): TemplateResult =>
      html`<button
        type="button"
        class="quiet"
        title=${title}
        aria-label=${title}
        @click=${() => void this.looks.step(by)}
      >
        ${name}
      </button>`;
    return html`<p class="occurrence" role="status">
      ${step(-1, "‹", "The occurrence before (N)")} ${step(1, "›", "The next occurrence (n)")}
      ${
        occurrence
          ? html`<b>${thousands(occurrence.number + 1)} of ${thousands(all)}</b>
              at ${clock(occurrence.fromNs)}, ${duration(occurrence.toNs - occurrence.fromNs)}, in
              ${[occurrence.process, occurrence.name].filter(Boolean).join(" / ")}
              ${placeLink(occurrence.location, this.context.store.state.workspace, (location) => {
                this.context.reveal(location);
              })}
              <button type="button" class="link" @click=${() => void this.showTime()}>Show it on the timeline</button>`
          : html`<span class="muted">${count(row.count, "occurrence")}: go through them with n and N</span>`
      }
    </p>`;
  }

  private drawDiagram(): TemplateResult | typeof nothing {
    const { diagram, graph, problem } = this.looks;
    if (problem && !diagram) return nothing;
    if (!diagram || !graph) {
      return html`<section class="pattern-part">${asking("Counting what comes right after what …")}</section>`;
    }
    const hidden = [
      diagram.hiddenStates > 0 ? count(diagram.hiddenStates, "more state") : "",
      diagram.hiddenMoves > 0 ? count(diagram.hiddenMoves, "rarer move") : "",
    ].filter(Boolean);
    return html`<section class="pattern-part" aria-label="What comes right after what">
      <h3>What comes right after what</h3>
      <p class="muted">
        Boxes are beginnings and ends of functions, the stronger coloured the more time passes until what comes next;
        lines are as wide as they are often. <b>8 / 10</b>: 10 times in all, 8 of them in this
        pattern.${hidden.length > 0 ? ` Left out: ${hidden.join(", ")}.` : ""}
      </p>
      <clew-graph
        class="pattern-diagram"
        .graph=${graph}
        .selected=${graph.byId.has(this.state) ? [this.state] : []}
        .found=${search(graph, this.context.store.state.place.search)}
        .flow=${this.context.store.state.place.flow}
        .label=${`Diagram of ${count(graph.nodes.length, "state")} and ${count(graph.edges.length, "move")}`}
        @clew-select=${(event: CustomEvent<string[]>) => {
          const [id = ""] = event.detail;
          const node = graph.byId.get(id);
          if (node) this.select({ label: node.label, location: node.location });
          this.state = id;
          this.context.store.changed();
        }}
        @clew-open=${(event: CustomEvent<string>) => {
          this.context.reveal(graph.byId.get(event.detail)?.location ?? null);
        }}
        @clew-flow=${(event: CustomEvent<"down" | "right">) => {
          this.context.look({ flow: event.detail });
        }}
      ></clew-graph>
    </section>`;
  }

  /** Where the chosen pattern begins in the diagram. */
  private startState(): string {
    const first = this.answer?.result.patterns.find((row) => row.id === this.selected)?.outline[0];
    return first ? stateId({ label: first.label, what: first.resumed ? "resumed" : "entered" }) : "";
  }

  event(): SelectedEvent | undefined {
    const { occurrence } = this.looks;
    return occurrence && { event: occurrence.event };
  }

  private get element(): GraphElement | null {
    return document.querySelector<GraphElement>("clew-graph.pattern-diagram");
  }

  private async pick(strand: number, ns: number, isOpened: boolean): Promise<void> {
    const found = await this.looks.pick(strand, ns);
    if (found && isOpened) await this.showTime();
  }

  /** The timeline at the occurrence that is chosen, else at the first one of the window. */
  private async showTime(): Promise<void> {
    const { answer } = this;
    if (!this.looks.occurrence) await this.looks.step(1);
    const { occurrence } = this.looks;
    const first = answer?.result.patterns.find((row) => row.id === this.selected)?.stretches[0];
    const at = occurrence ?? first;
    if (answer && at) this.context.go("timeline", stretchQuestion(answer.result.run.id, at.fromNs, at.toNs));
  }

  private choose(id: string): void {
    if (this.selected === id || !this.answer) return;
    this.selected = id;
    const { pattern: _pattern, ...asked } = this.context.question;
    const question = { ...asked, pattern: id };
    this.context.remember(question);
    this.state = this.startState();
    this.looks.look({ ...question, run: this.answer.result.run.id }, this.state, true);
    this.context.store.changed();
  }
}
