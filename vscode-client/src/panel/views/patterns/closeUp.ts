/**
 * Details of the selected pattern: its occurrences in a window, single occurrences, and the state diagram.
 *
 * Invariant: the details belong to the selected pattern and, once loaded, to the shown window; late answers to older questions are
 * dropped.
 */
import { Newest } from "../../../shared/newest";
import type {
  PatternDiagram,
  PatternOccurrence,
  PatternOccurrenceParams,
  PatternsParams,
  PatternTimesResult,
} from "../../../shared/protocol";
import { between, isWhole } from "./brush";
import type { PanelGraph } from "../../graph/model";
import { diagramGraph } from "./diagramGraph";
import { panned, type Span, clamped, zoomed } from "../../ui/timeSpan";
import type { Context } from "../contract";

/** Milliseconds of rest before another window is asked for. */
const REST = 120;
/** Parts of a window, where it is not known how wide it is drawn. */
const PARTS = 600;
const FEWEST_PARTS = 100;
const MOST_PARTS = 1200;
const ZOOM = 0.6;
const PAN = 0.25;

export class PatternCloseUp {
  times: PatternTimesResult | undefined;
  diagram: PatternDiagram | undefined;
  graph: PanelGraph | undefined;
  occurrence: PatternOccurrence | undefined;
  count = 0;
  /** Why there is nothing to see, "" where there is. */
  problem = "";
  private window: Span | undefined;
  private params: PatternsParams = {};
  private start = "";
  private readonly newestDiagram = new Newest();
  private readonly newestTimes = new Newest();
  private readonly newestOne = new Newest();
  private rest = 0;

  constructor(private readonly context: Context<PatternsParams>) {}

  /** Another pattern, or an answer to another question; `params` says which pattern and which window, `start` the
   * state that its diagram is read from. */
  look(params: PatternsParams, start: string, keepsDiagram: boolean): void {
    this.params = params;
    this.start = start;
    this.newestOne.forget();
    this.occurrence = undefined;
    this.count = 0;
    this.problem = "";
    if (!keepsDiagram) {
      this.times = undefined;
      this.diagram = undefined;
      this.graph = undefined;
    }
    const { fromNs = 0, toNs = 0 } = params;
    this.window = toNs > fromNs ? { from: fromNs, to: toNs } : undefined;
    void this.fetchDiagram();
    void this.fetchTimes();
  }

  forget(): void {
    this.newestDiagram.forget();
    this.newestTimes.forget();
    this.newestOne.forget();
    window.clearTimeout(this.rest);
    this.times = undefined;
    this.diagram = undefined;
    this.graph = undefined;
    this.occurrence = undefined;
    this.window = undefined;
  }

  get all(): Span {
    return { from: 0, to: this.times?.endNs ?? 1 };
  }

  get span(): Span {
    return this.window && this.times ? between(this.window.from, this.window.to, this.all) : this.all;
  }

  /** Is less than the whole run looked at? */
  get isWindow(): boolean {
    return this.times !== undefined && !isWhole(this.span, this.all);
  }

  show(span: Span): void {
    this.window = isWhole(span, this.all) ? undefined : span;
    this.context.store.changed();
    window.clearTimeout(this.rest);
    this.rest = window.setTimeout(() => {
      const { window: shown } = this;
      const { fromNs: _from, toNs: _to, ...params } = this.params;
      this.params = shown ? { ...params, fromNs: Math.floor(shown.from), toNs: Math.ceil(shown.to) } : params;
      this.context.remember(this.params);
      void this.fetchTimes();
    }, REST);
  }

  /** The keys of the timeline. */
  key(event: KeyboardEvent): boolean {
    if (!this.times) return false;
    const { span, all } = this;
    const by = (span.to - span.from) * PAN;
    const next: Record<string, () => Span> = {
      w: () => zoomed(span, ZOOM, 0.5, all),
      s: () => zoomed(span, 1 / ZOOM, 0.5, all),
      a: () => panned(span, -by, all),
      d: () => panned(span, by, all),
      "0": () => all,
    };
    const made = next[event.key]?.();
    if (made) this.show({ from: Math.floor(made.from), to: Math.ceil(made.to) });
    return made !== undefined;
  }

  /** The next or previous occurrence, and after the last the first again; from the window's begin where none is chosen. */
  async step(by: 1 | -1): Promise<void> {
    if (this.occurrence && this.count > 0) {
      await this.choose({ number: (this.occurrence.number + by + this.count) % this.count });
      return;
    }
    const lane = this.times?.lanes[0];
    if (!this.isWindow) await this.choose({ number: 0 });
    else if (lane) await this.choose({ strandNumber: lane.strand, atNs: Math.floor(this.span.from) });
  }

  async pick(strandNumber: number, atNs: number): Promise<PatternOccurrence | undefined> {
    return this.choose({ strandNumber, atNs });
  }

  private async choose(which: Partial<PatternOccurrenceParams>): Promise<PatternOccurrence | undefined> {
    const isNewest = this.newestOne.begin();
    const found = await this.context
      .quietly("clew/patternOccurrence", { ...this.params, ...which })
      .catch(() => undefined);
    if (!found?.occurrence || !isNewest()) return undefined;
    this.occurrence = found.occurrence;
    this.count = found.count;
    this.uncover(found.occurrence);
    this.context.store.changed();
    return found.occurrence;
  }

  /** Moves the window just so that the occurrence is in it. */
  private uncover({ fromNs, toNs }: PatternOccurrence): void {
    const { span, all } = this;
    if (!this.isWindow || (fromNs >= span.from && toNs <= span.to)) return;
    const half = Math.max(span.to - span.from, (toNs - fromNs) * 1.2) / 2;
    const middle = (fromNs + toNs) / 2;
    const moved = clamped({ from: middle - half, to: middle + half }, all);
    this.show({ from: Math.floor(moved.from), to: Math.ceil(moved.to) });
  }

  private async fetchTimes(): Promise<void> {
    const isNewest = this.newestTimes.begin();
    const shown = document.querySelector(".times-whole")?.clientWidth ?? PARTS;
    const maxParts = Math.min(MOST_PARTS, Math.max(FEWEST_PARTS, Math.round(shown)));
    try {
      const times = await this.context.quietly("clew/patternTimes", { ...this.params, maxParts });
      if (!isNewest()) return;
      this.times = times;
      this.problem = "";
    } catch (error) {
      if (!isNewest()) return;
      // What was there before is still true.
      this.problem = error instanceof Error ? error.message : String(error);
    }
    this.context.store.changed();
  }

  private async fetchDiagram(): Promise<void> {
    const isNewest = this.newestDiagram.begin();
    const { fromNs: _from, toNs: _to, ...params } = this.params;
    const diagram = await this.context.quietly("clew/patternDiagram", params).catch(() => undefined);
    if (!diagram || !isNewest()) return;
    this.diagram = diagram;
    this.graph = diagramGraph(diagram, this.start);
    this.context.store.changed();
  }
}
