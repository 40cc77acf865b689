/**
 * The patterns view: repeated call sequences ranked by their share of the time, their occurrences, and the state diagram.
 *
 * Invariant: patterns are nested, so shares are shown next to each other and never added. The table, the occurrences, the diagram and
 * the side panel show the same selected pattern.
 */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { PatternRow, PatternsParams, PatternsResult } from "../../../shared/protocol";
import type { GraphElement } from "../../graph/element";
import { drawOccurrence } from "./occurrence";
import { loading, emptyState, noRun, notice } from "../../ui/parts";
import { drawDiagram } from "./diagram";
import { patternSide } from "./sidebar";
import { type PatternActions, patternTable, windowText } from "./table";
import { drawTimes } from "./times";
import { ZOOM_STEP } from "../../ui/zoomControls";
import { arrows, count } from "../../ui/text/format";
import { neighbourOf } from "../../ui/listNavigation";
import { stateId } from "./diagramGraph";
import { filterPatterns, patternRows, inWindow } from "./model";
import { intervalQuestion } from "../timeline/link";
import { PatternCloseUp } from "./closeUp";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";

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
  private readonly newest = new Newest();
  private selected = "";
  /** A state of the diagram. */
  private state = "";
  private readonly looks: PatternCloseUp;

  private readonly act: PatternActions = {
    choose: (id) => {
      this.choose(id);
    },
    reveal: (location) => {
      this.context.reveal(location);
    },
    showTime: () => {
      void this.showTime();
    },
  };

  constructor(private readonly context: Context<PatternsParams>) {
    this.looks = new PatternCloseUp(context);
  }

  async open(params: PatternsParams): Promise<void> {
    const isNewest = this.newest.begin();
    // The details request the selected pattern and the shown window.
    const { pattern: _pattern, fromNs: _from, toNs: _to, ...question } = params;
    const result = await this.context.request("clew/patterns", question);
    if (isNewest()) this.handle({ params, result });
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
    this.newest.forget();
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
    else if (["+", "="].includes(event.key) && element) element.zoomBy(ZOOM_STEP);
    else if (event.key === "-" && element) element.zoomBy(1 / ZOOM_STEP);
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
    const rows = filterPatterns(this.answer?.result.patterns ?? [], wanted).map(({ id }) => id);
    const next = neighbourOf(rows, this.selected, by);
    if (next !== undefined) this.choose(next);
  }

  draw(): TemplateResult {
    const answer = this.answer;
    const { busy, runs, runsKnown, place, workspace } = this.context.store.state;
    if (runsKnown && runs.length === 0) {
      return html`<div class="view">${noRun()}</div>`;
    }
    if (!answer) return html`<div class="view">${busy > 0 ? loading("Finding patterns …") : nothing}</div>`;
    const { result, params } = answer;
    if (result.patterns.length === 0) {
      return html`<div class="view">
        ${emptyState("No patterns", result.message || "No thread or task repeats a call sequence.")}
        ${
          result.events > 0 && (params.calls ?? FEWEST_CALLS) > 1
            ? notice(
                "info",
                `Patterns of fewer than ${count(params.calls ?? FEWEST_CALLS, "call")} were not searched.`,
                {
                  name: "Search for smaller patterns",
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
    const here = this.looks.isWindow && times ? inWindow(result.patterns, times.inside) : result.patterns;
    const rows = patternRows(result, filterPatterns(here, place.search));
    const chosen = result.patterns.find((row) => row.id === this.selected);
    return html`<div class="view with-side patterns">
      <div class="main scrolling-part">
        <section class="summary pad">
          <h2 class="sentence">${arrows(result.sentence)}</h2>
          ${result.message ? notice("info", result.message) : nothing}
          ${
            this.looks.isWindow && times
              ? windowText(this.looks.span, result.patterns.length, here.length, () => {
                  this.looks.show(this.looks.all);
                })
              : nothing
          }
          <details>
            <summary>What counts as a pattern?</summary>
            <p class="numbers">${result.explanation}</p>
          </details>
        </section>
        <div class="pattern-table">
          ${patternTable(rows, chosen?.id, this.act)}
          ${rows.length === 0 ? html`<p class="muted pad">${place.search ? "No matches." : "No pattern occurs in this window."}</p>` : nothing}
          ${
            result.hiddenPatterns > 0
              ? notice("info", `${count(result.hiddenPatterns, "more pattern")} with less total time.`, {
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
      ${chosen ? patternSide(result, chosen, workspace, this.act) : nothing}
    </div>`;
  }

  private drawTimes(row: PatternRow): TemplateResult {
    const { times, span, occurrence, problem } = this.looks;
    const width = document.querySelector(".times-whole")?.clientWidth ?? AXIS;
    return html`<section class="pattern-part" aria-label="Occurrences over time">
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
            : loading("Loading occurrences …")
      }
      ${problem ? notice("info", problem) : nothing}
    </section>`;
  }

  private drawOccurrence(row: PatternRow): TemplateResult {
    const { occurrence, count: all } = this.looks;
    const step = (by: 1 | -1): void => {
      void this.looks.step(by);
    };
    const { workspace } = this.context.store.state;
    return drawOccurrence(row, { occurrence, all }, { ...this.act, workspace, step });
  }

  private drawDiagram(): TemplateResult | typeof nothing {
    const { diagram, graph, problem } = this.looks;
    if (problem && !diagram) return nothing;
    if (!diagram || !graph) {
      return html`<section class="pattern-part">${loading("Counting what follows what …")}</section>`;
    }
    return drawDiagram(diagram, graph, this.state, this.context.store.state.place, {
      choose: (id) => {
        const node = graph.byId.get(id);
        if (node) this.select({ label: node.label, location: node.location });
        this.state = id;
        this.context.store.changed();
      },
      reveal: (location) => {
        this.context.reveal(location);
      },
      turn: (flow) => {
        this.context.look({ flow });
      },
    });
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
    if (answer && at) this.context.go("timeline", intervalQuestion(answer.result.run.id, at.fromNs, at.toNs));
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
