/**
 * What threads and tasks of a run do again and again: patterns by their share of the time, when they occur, what follows what.
 *
 * Invariant: patterns lie within others, so shares are shown beside each other and never added up.
 */
import { html, nothing, svg, type TemplateResult } from "lit";
import type { PatternLine, PatternRow, PatternsParams, PatternsResult } from "../../shared/protocol";
import { asking, bar, emptyState, notice, placeLink, RECORD_COMMAND } from "../draw/parts";
import { rowKeys } from "../draw/rows";
import { arrows, count, duration, thousands } from "../model/format";
import {
  filterPatterns,
  type Neighbour,
  neighbours,
  outlineLine,
  patternRows,
  type PatternView,
  percent,
} from "../model/patterns";
import { stretchQuestion } from "../model/timeline";
import type { Context, Selection, View } from "./view";

/** Patterns that are named as what follows, before the rest is counted. */
const NAMED = 5;
const MORE_PATTERNS = 50;
/** In a pattern, unless asked otherwise. */
const FEWEST_CALLS = 3;
/** Of a level deeper in the outline, in px. */
const INDENT = 14;

interface Answer {
  params: PatternsParams;
  result: PatternsResult;
}

export class PatternsView implements View<PatternsParams, Answer> {
  private answer: Answer | undefined;
  private asked = 0;
  private selected = "";

  constructor(private readonly context: Context<PatternsParams>) {}

  async open(params: PatternsParams): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const result = await this.context.request("clew/patterns", params);
    if (asked === this.asked) this.handle({ params, result });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.show();
  }

  unhandle(): void {
    this.answer = undefined;
    this.asked += 1;
    this.show();
  }

  /** The first pattern in which the function is called. */
  select({ label }: Selection): void {
    const found = this.answer?.result.patterns.find((row) => row.outline.some((line) => line.label === label));
    if (found) this.choose(found.id);
  }

  focus(): void {
    document.querySelector<HTMLElement>(".pattern-rows tbody tr")?.focus();
  }

  shownRun(): string | undefined {
    return this.answer?.result.run.id;
  }

  found(): { matches: number; all: number } {
    const rows = this.answer?.result.patterns ?? [];
    return { matches: filterPatterns(rows, this.context.store.state.place.search).length, all: rows.length };
  }

  nextMatch(by: 1 | -1): void {
    const { result } = this.answer ?? {};
    const rows = filterPatterns(result?.patterns ?? [], this.context.store.state.place.search);
    const at = rows.findIndex((row) => row.id === this.selected);
    const next = rows[(Math.max(at, by === 1 ? -1 : 0) + by + rows.length) % Math.max(rows.length, 1)];
    if (next) this.choose(next.id);
  }

  draw(): TemplateResult {
    const answer = this.answer;
    const { busy, runs, runsKnown, place } = this.context.store.state;
    if (runsKnown && runs.length === 0) {
      return html`<div class="view">
        ${emptyState("No run yet", "Record your program in a terminal, then come back:", RECORD_COMMAND)}
      </div>`;
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
    const shown = new Set(filterPatterns(result.patterns, place.search).map((row) => row.id));
    const rows = patternRows(result, result.patterns).filter((one) => shown.has(one.row.id));
    const chosen = rows.find((one) => one.row.id === this.selected)?.row ?? rows[0]?.row;
    return html`<div class="view with-side patterns">
      <div class="main scrolling-part">
        <section class="summary pad">
          <p class="sentence">${arrows(result.sentence)}</p>
          ${result.message ? notice("info", result.message) : nothing}
          <details>
            <summary>What counts as a pattern?</summary>
            <p class="numbers">${result.explanation}</p>
          </details>
        </section>
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
          <tbody>
            ${rows.map((one) => this.drawRow(one, one.row.id === chosen?.id))}
          </tbody>
        </table>
        ${rows.length === 0 ? html`<p class="muted pad">No pattern has that in it.</p>` : nothing}
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
      ${chosen ? this.drawSide(result, chosen) : nothing}
    </div>`;
  }

  private drawRow(one: PatternView, isChosen: boolean): TemplateResult {
    const { row } = one;
    const keys = rowKeys(() => {
      this.choose(row.id);
    });
    const said = `${one.title}: ${one.percent} of the time, ${one.count} times, ${one.mean} each`;
    return html`<tr
      class=${isChosen ? "selected" : ""}
      tabindex="0"
      aria-current=${isChosen ? "true" : "false"}
      aria-label=${said}
      @click=${keys.click}
      @keydown=${keys.keydown}
    >
      <th scope="row" title=${one.title}>
        <span class="name">${one.title}</span>
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

  private drawSide(result: PatternsResult, row: PatternRow): TemplateResult {
    const { workspace } = this.context.store.state;
    return html`<aside class="side">
      <div class="reading">
        <section>
          <h3>${row.title}</h3>
          <p class="numbers">
            ${count(row.count, "time")}, ${duration(row.totalNs)} in all (${percent(row.share)}), of that
            ${duration(row.selfNs)} work; in
            ${row.strands === 1 ? "one thread or task" : `${thousands(row.strands)} threads and tasks`}
          </p>
          ${this.drawWhen(result, row)}
          <ol class="outline" aria-label="What it calls">
            ${row.outline.map((line) => this.drawLine(line, workspace))}
            ${row.hiddenLines ? html`<li class="muted">and more</li>` : nothing}
          </ol>
        </section>
        ${this.drawNeighbours("Followed by", neighbours(result, row.id, "after"))}
        ${this.drawNeighbours("Comes after", neighbours(result, row.id, "before"))}
      </div>
    </aside>`;
  }

  /** The way to where it occurs first. */
  private drawWhen(result: PatternsResult, row: PatternRow): TemplateResult | typeof nothing {
    const [first] = row.stretches;
    if (!first) return nothing;
    return html`<p>
      <button
        type="button"
        class="link"
        @click=${() => {
          this.context.go("timeline", stretchQuestion(result.run.id, first.fromNs, first.toNs));
        }}
      >
        Show it on the timeline
      </button>
    </p>`;
  }

  private drawLine(line: PatternLine, workspace: string): TemplateResult {
    const { name, note } = outlineLine(line);
    // No inline styles: the content policy forbids them, not so what a script sets.
    return html`<li .style=${`padding-left: ${line.depth * INDENT}px`} title=${line.label}>
      <b>${name}</b> <small>${note}</small>
      ${placeLink(line.location, workspace, (location) => {
        this.context.reveal(location);
      })}
    </li>`;
  }

  private drawNeighbours(title: string, found: readonly Neighbour[]): TemplateResult | typeof nothing {
    if (found.length === 0) return nothing;
    return html`<section>
      <h3>${title}</h3>
      <ul class="facts">
        ${found.slice(0, NAMED).map(
          (one) =>
            html`<li>
              <button
                type="button"
                class="link"
                @click=${() => {
                  this.choose(one.id);
                }}
              >
                ${one.title}
              </button>
              <small>${thousands(one.count)}×, ${percent(one.share)}</small>
            </li>`,
        )}
        ${found.length > NAMED ? html`<li class="muted">and ${count(found.length - NAMED, "other")}</li>` : nothing}
      </ul>
    </section>`;
  }

  private show(): void {
    const rows = this.answer?.result.patterns ?? [];
    if (!rows.some((row) => row.id === this.selected)) this.selected = "";
    this.context.store.changed();
  }

  private choose(id: string): void {
    this.selected = id;
    this.context.store.changed();
  }
}
