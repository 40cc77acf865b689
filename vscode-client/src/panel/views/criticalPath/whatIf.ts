/**
 * The what-if of a critical path: estimates the end if the work of a label were faster.
 *
 * Invariant: the text belongs to the position of the slider; a request for an earlier position is cancelled, also on the server.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { CriticalPathParams, CriticalPathResult, WhatIfResult } from "../../../shared/protocol";
import { duration, shortLabel } from "../../ui/text/format";
import { whatIfLabels } from "../../segments/path";
import type { Context } from "../contract";

/** A slider that moves is asked about when it rests for so long. */
const REST_MS = 80;
const START_PERCENT = 20;

export class WhatIfSlider {
  private label = "";
  private percent = START_PERCENT;
  private told: WhatIfResult | undefined;
  private problem = "";
  private underWay: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly context: Pick<Context, "quietly" | "store">) {}

  /** Of another path. */
  reset(params: CriticalPathParams, result: CriticalPathResult): void {
    const labels = whatIfLabels(result);
    if (!labels.includes(this.label)) this.label = labels[0] ?? "";
    this.told = undefined;
    this.problem = "";
    if (this.label) this.ask(params, result.run.id, 0);
  }

  stop(): void {
    clearTimeout(this.timer);
    this.underWay?.abort();
    this.underWay = undefined;
  }

  choose(label: string, params: CriticalPathParams, run: string): void {
    this.label = label;
    this.told = undefined;
    this.ask(params, run, 0);
  }

  private ask(params: CriticalPathParams, run: string, rest: number): void {
    this.stop();
    const mine = new AbortController();
    this.underWay = mine;
    const { label, percent } = this;
    this.timer = setTimeout(() => {
      const asked = { target: params.target, run, label, percent, ...(params.level ? { level: params.level } : {}) };
      this.context.quietly("clew/whatIf", asked, mine.signal).then(
        (told) => {
          if (this.underWay !== mine) return;
          this.told = told;
          this.problem = "";
          this.context.store.changed();
        },
        (error: unknown) => {
          if (this.underWay !== mine) return;
          this.problem = error instanceof Error ? error.message : String(error);
          this.context.store.changed();
        },
      );
    }, rest);
    this.context.store.changed();
  }

  draw(params: CriticalPathParams, result: CriticalPathResult): TemplateResult | typeof nothing {
    const labels = whatIfLabels(result);
    if (labels.length === 0) return nothing;
    const run = result.run.id;
    return html`<section class="what-if" aria-label="What if">
      <label
        >What if
        <select
          aria-label="Label that is faster"
          @change=${(event: Event) => {
            this.choose((event.target as HTMLSelectElement).value, params, run);
          }}
        >
          ${labels.map((label) => html`<option value=${label} title=${label} .selected=${label === this.label}>${shortLabel(label)}</option>`)}
        </select></label
      >
      <label
        >were
        <input
          type="range"
          min="0"
          max="100"
          step="1"
          aria-label="Percent faster"
          aria-valuetext=${`${this.percent} % faster`}
          .value=${String(this.percent)}
          @input=${(event: Event) => {
            this.percent = Number((event.target as HTMLInputElement).value);
            this.ask(params, run, REST_MS);
          }}
        />
        <b>${this.percent} %</b> faster?</label
      >
      <output class=${this.told?.percent === this.percent ? "" : "muted"}>${this.problem || this.sentence()}</output>
    </section>`;
  }

  private sentence(): string {
    const { told } = this;
    if (!told) return "…";
    // A report has answers for some positions of the slider and shows the nearest.
    const at = told.percent === this.percent ? "" : `At ${told.percent} %: `;
    if (told.savedNs <= 0)
      return `${at}The end would not come sooner: the path waits for other work that takes as long.`;
    const share = told.totalNs > 0 ? Math.round((1000 * told.savedNs) / told.totalNs) / 10 : 0;
    return `${at}${duration(told.totalNs)} would become ${duration(told.afterNs)}: ${duration(told.savedNs)} less (${share} %).`;
  }
}
