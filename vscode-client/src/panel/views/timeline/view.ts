/**
 * The timeline of a run: the calls of threads and tasks as bars, from the whole run down to a nanosecond.
 *
 * Invariant: the text about a call comes from the server, never from a pixel.
 */
import { html, nothing, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import { Newest } from "../../../shared/newest";
import type { Location, TimelineCall, TimelineParams, TimelineResult } from "../../../shared/protocol";
import { canBeSvg } from "../../app/copy/formats";
import { loading, emptyState, linkButton, noRun, notice } from "../../ui/parts";
import { AXIS } from "./draw/scene";
import { brushTools, callCard, type CallActions, type CardPlace, selectedCall } from "./draw/callCard";
import { zoomControls } from "../../ui/zoomControls";
import { thousands } from "../../ui/text/format";
import { heightOf, seen } from "./draw/lanes";
import { padded, type Span, clamped } from "../../ui/timeSpan";
import { foundSentence, leftOut, matchingFunctions, summary } from "./sentences";
import { Calls } from "./callNavigation";
import { handleKey } from "./keys";
import { TimelineSearch } from "./search";
import { type Hands, type Spot, Stage } from "./stage/stage";
import { entitiesLink } from "../entities/link";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";

const MORE_STRANDS = 200;

export class TimelineView implements View<TimelineParams, TimelineResult>, Hands {
  private answer: TimelineResult | undefined;
  private readonly newest = new Newest();
  private searched = "";
  /** What is selected in the editor, or elsewhere. */
  private lit = "";
  private card: CardPlace | undefined;
  private readonly stage: Stage;
  private readonly calls: Calls;
  private readonly searching: TimelineSearch;

  constructor(private readonly context: Context<TimelineParams>) {
    this.stage = new Stage(context, this);
    this.calls = new Calls(context, this.stage);
    this.searching = new TimelineSearch(context, (error) => {
      context.store.update({ error: error instanceof Error ? error.message : String(error) });
    });
  }

  async open(params: TimelineParams): Promise<void> {
    const isNewest = this.newest.begin();
    const { fromNs: _from, toNs: _to, ...rest } = params;
    const result = await this.context.request("clew/timeline", rest);
    if (isNewest()) this.handle(result);
  }

  handle(result: TimelineResult): void {
    this.answer = result;
    this.card = undefined;
    this.stage.begin(result, this.context.question);
    this.calls.run = result.run.id;
    this.search();
    this.context.store.changed();
  }

  unhandle(): void {
    this.answer = undefined;
    this.newest.forget();
    this.card = undefined;
    this.stage.end();
    this.context.store.changed();
  }

  select({ label }: Selection): void {
    this.lit = label;
    this.search();
    this.context.store.changed();
  }

  focus(): void {
    this.stage.canvases.focus();
  }

  shownRun(): string | undefined {
    return this.answer?.run.id;
  }

  found(): { matches: number; all: number; said?: string } {
    const all = this.stage.labels.size;
    const { result, match } = this.searching;
    if (!result) return { matches: this.stage.lit?.size ?? all, all };
    const total = result.calls + result.logs;
    return { matches: total, all: total, said: (match ? `${thousands(match.place)} of ` : "") + thousands(total) };
  }

  /** The next call of a function, or log line, that is searched for, in all of the run. */
  nextMatch(by: 1 | -1): void {
    const { selected } = this.stage;
    const { match } = this.searching;
    // A log line is within its call: the next match comes after the line.
    const isThere = match && match.call?.event === selected?.event;
    const from = isThere ? match : selected && { ns: selected.fromNs, event: selected.event };
    void this.searching.go(by, from && { ns: from.ns, event: from.event }).then((found) => {
      if (found) this.calls.arrive(found);
    });
  }

  // --- what hands do with calls ---

  pointed(spot: Spot | undefined, at: { x: number; y: number } | undefined): void {
    void this.calls.ask(spot).then((call) => {
      if (at && this.stage.mouse?.x !== at.x) return;
      if (!call && !this.card) return;
      this.card = call && at && { call, ...at };
      this.stage.hovered = call;
      this.stage.invalidate();
      this.context.store.changed();
    });
  }

  clicked(spot: Spot | undefined): void {
    this.card = undefined;
    void this.calls.choose(spot).then((call) => {
      if (call) this.context.reveal(call.location);
    });
  }

  opened(spot: Spot): void {
    void this.calls.ask(spot).then((call) => {
      if (call) this.zoomTo(call);
    });
  }

  rested(span: Span, isAll: boolean): void {
    const { fromNs: _from, toNs: _to, ...rest } = this.context.question;
    const part = isAll ? {} : { fromNs: Math.max(0, Math.floor(span.from)), toNs: Math.ceil(span.to) };
    this.context.remember({ ...rest, ...part });
  }

  reveal(location: Location | null): void {
    this.context.reveal(location);
  }

  zoomTo(call: TimelineCall): void {
    this.stage.show(padded(call.fromNs, call.toNs, this.stage.all));
  }

  private search(): void {
    const { search } = this.context.store.state.place;
    this.searched = search;
    this.searching.change(this.answer?.run.id ?? "", search.trim());
    const wanted = search.trim() || this.lit;
    const found = wanted ? matchingFunctions(this.stage.labels.values(), wanted) : undefined;
    // A function that was selected elsewhere and is not here says nothing about the others.
    this.stage.light(!search.trim() && found?.size === 0 ? undefined : found);
  }

  private more(): void {
    const strands = (this.context.question.maxStrands ?? MORE_STRANDS) + MORE_STRANDS;
    this.context.ask({ ...this.context.question, maxStrands: strands });
  }

  // --- keys ---

  key(event: KeyboardEvent): boolean {
    return this.answer !== undefined && handleKey(event, this.stage, this.calls, this);
  }

  private readonly attach = (element: Element | undefined): void => {
    this.stage.canvases.attach(element);
    if (element) canBeSvg(element, () => this.stage.svg());
  };

  // --- what is drawn around the canvases ---

  draw(): TemplateResult {
    const { busy, runs, runsKnown, place } = this.context.store.state;
    if (runsKnown && runs.length === 0) {
      return html`<div class="view">${noRun()}</div>`;
    }
    const result = this.answer;
    if (!result) return html`<div class="view">${busy > 0 ? loading("Loading the timeline …") : nothing}</div>`;
    if (result.strands.length === 0 || result.functions.length === 0) {
      return html`<div class="view">${emptyState("No calls", result.message || "This run recorded no calls.")}</div>`;
    }
    if (place.search !== this.searched) this.search();
    const more = leftOut(result);
    return html`<div class="view timeline">
      ${result.message ? notice("info", result.message) : nothing}
      <div
        class="timeline-scroll"
        ${ref((element) => {
          this.stage.canvases.attachScroller(element);
        })}
        @scroll=${() => {
          this.stage.moved();
        }}
      >
        <div class="timeline-space" .style=${`height: ${heightOf(this.stage.lanes) + AXIS}px`}>
          <canvas
            class="timeline-canvas"
            tabindex="0"
            role="application"
            aria-roledescription="timeline"
            aria-label="Calls of threads and tasks over time. Arrow keys go from call to call."
            aria-describedby="timeline-summary"
            @focus=${() => {
              this.stage.invalidate();
            }}
            @blur=${() => {
              this.stage.invalidate();
            }}
            ${ref(this.attach)}
          ></canvas>
        </div>
      </div>
      <canvas
        class="timeline-overview"
        aria-hidden="true"
        ${ref((element) => {
          this.stage.canvases.attachOverview(element);
        })}
      ></canvas>
      <footer class="timeline-foot">
        <div class="timeline-said" aria-live="polite">
          ${selectedCall(this.stage.selected, this.searching.match, this.callActions(result))}
        </div>
        <div class="timeline-tools">
          ${this.searching.result ? html`<span>${foundSentence(this.searching.result)}</span>` : nothing}
          ${this.stage.brush ? this.drawBrushTools(this.stage.brush) : nothing}
          ${this.stage.hiddenArrows > 0 ? html`<span class="muted" title="Zoom in to see the others">the ${this.stage.arrows.length} longest arrows</span>` : nothing}
          ${
            more
              ? html`<span class="muted">${more}</span> ${
                    result.hiddenStrands > 0 && result.scales.length === 0
                      ? linkButton("Show more", () => {
                          this.more();
                        })
                      : nothing
                  }`
              : nothing
          }
          ${zoomControls(this.stage, nothing, "0")}
        </div>
      </footer>
      <p id="timeline-summary" class="unseen">${this.said(result)}</p>
      ${this.card ? callCard(this.card, this.stage.width) : nothing}
    </div>`;
  }

  event(): SelectedEvent | undefined {
    const call = this.stage.selected;
    return call && { event: call.event };
  }

  private callActions(result: TimelineResult): CallActions {
    return {
      workspace: this.context.store.state.workspace,
      reveal: (location) => {
        this.context.reveal(location);
      },
      zoomTo: (call) => {
        this.zoomTo(call);
      },
      why: (event) => {
        this.context.go("slice", { run: result.run.id, target: { event } });
      },
      more: (call) => entitiesLink(this.context, result.run.id, call.fromNs),
    };
  }

  private drawBrushTools(brush: Span): TemplateResult {
    return brushTools(brush, {
      zoomIn: () => {
        this.stage.show(clamped(brush, this.stage.all));
        this.stage.measured(undefined);
      },
      clear: () => {
        this.stage.measured(undefined);
      },
    });
  }

  private said(result: TimelineResult): string {
    const { span, lanes, top, canvases } = this.stage;
    return summary(result, span, seen(lanes, top, canvases.bodyHeight));
  }
}
