/** The critical path of a request or an event: the waits and the work between start and end. */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { CriticalPathResult, PathSegment } from "../../../shared/protocol";
import { canBeSvg } from "../../app/copy/formats";
import { loading, emptyState, linkButton, noRun, notice } from "../../ui/parts";
import { drawPathLanes, type LaneActions } from "./lanes";
import { pathLanesSvg } from "./lanesSvg";
import { besidePath, byLabel, type TableActions } from "./tables";
import { PathZoom } from "./zoom";
import { segmentLegend, segmentList } from "../../segments/table";
import { ZOOM_STEP, zoomControls } from "../../ui/zoomControls";
import type { PathQuestion } from "./question";
import { count, duration, shortLabel } from "../../ui/text/format";
import { neighbourOf } from "../../ui/listNavigation";
import { pathChoices, pathLanes, waitsOf } from "../../segments/path";
import { intervalQuestion } from "../timeline/link";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";
import { WhatIfSlider } from "./whatIf";

const LISTS = [
  ["order", "In order"],
  ["label", "By label"],
  ["beside", "Parallel"],
] as const;
/** Words of waits in the sentence. */
const WAITS_NAMED = 3;

interface Answer {
  params: PathQuestion;
  result: CriticalPathResult;
}

export class CriticalPathView implements View<PathQuestion, Answer> {
  private answer: Answer | undefined;
  private readonly newest = new Newest();
  private selected: ReadonlySet<string> = new Set();
  private opened: ReadonlySet<number> = new Set();

  private readonly whatIf: WhatIfSlider;
  private readonly zoom = new PathZoom(() => {
    this.context.store.changed();
  });

  constructor(private readonly context: Context<PathQuestion>) {
    this.whatIf = new WhatIfSlider(context);
  }

  async open(params: PathQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    const { shown: _shown, ...question } = params;
    const result = await this.context.request("clew/criticalPath", question);
    if (isNewest()) this.handle({ params, result });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.selected = new Set();
    this.opened = new Set();
    this.zoom.factor = 1;
    this.whatIf.reset(answer.params, answer.result);
    this.context.store.changed();
  }

  unhandle(): void {
    this.whatIf.stop();
    this.answer = undefined;
    this.newest.forget();
    this.context.store.changed();
  }

  select({ label, location }: Selection): void {
    const segments = this.answer?.result.segments ?? [];
    const chosen = segments.filter(
      (one) =>
        [one.label, one.nodeId].includes(label) ||
        (location && one.location?.path === location.path && one.location.line === location.line),
    );
    this.selected = new Set(chosen.map((one) => one.nodeId));
    this.context.store.changed();
  }

  event(): SelectedEvent | undefined {
    const chosen = this.answer?.result.segments.find((one) => this.selected.has(one.nodeId));
    const event = chosen?.event ?? null;
    return event === null ? undefined : { event };
  }

  /** In the list that is shown. */
  found(): { matches: number; all: number } {
    return { matches: this.matches().length, all: this.listed("").length };
  }

  nextMatch(by: 1 | -1): void {
    const matches = this.matches();
    const next = neighbourOf(
      matches,
      matches.find((one) => this.selected.has(one)),
      by,
    );
    if (next === undefined) return;
    this.choose(next);
    void Promise.resolve().then(() => {
      document.querySelector(".segments tr.selected")?.scrollIntoView({ block: "nearest" });
    });
  }

  private matches(): string[] {
    return this.listed(this.context.store.state.place.search);
  }

  /** What can be chosen in the list that is shown. */
  private listed(search: string): string[] {
    const result = this.answer?.result;
    return result ? pathChoices(result, this.context.question.shown ?? "order", search) : [];
  }

  key(event: KeyboardEvent): boolean {
    const acts: Record<string, () => void> = {
      "+": () => {
        this.zoom.zoomBy(ZOOM_STEP);
      },
      "-": () => {
        this.zoom.zoomBy(1 / ZOOM_STEP);
      },
      f: () => {
        this.zoom.fit();
      },
      a: () => {
        this.zoom.pan(-1 / 4);
      },
      d: () => {
        this.zoom.pan(1 / 4);
      },
    };
    const act = this.answer && acts[event.key === "=" ? "+" : event.key];
    act?.();
    return act !== undefined;
  }

  shownRun(): string | undefined {
    return this.answer?.result.run.id;
  }

  focus(): void {
    document.querySelector<HTMLElement>(".segments tbody tr")?.focus();
  }

  draw(): TemplateResult {
    const answer = this.answer;
    const { busy, runs, runsKnown } = this.context.store.state;
    if (!answer) return html`<div class="view">${busy > 0 ? loading("Loading …") : nothing}</div>`;
    const { result } = answer;
    if (result.segments.length === 0) {
      return html`<div class="view">
        ${
          runs.length === 0 && runsKnown
            ? noRun()
            : emptyState(result.title || "No path", result.message || "This run has no critical path for the question.")
        }
      </div>`;
    }
    return html`<div class="view scrolling">
      <section class="summary">
        <h2>${result.title}</h2>
        <p class="sentence">${sentence(result)}</p>
        ${result.message ? notice("info", result.message) : nothing} ${segmentLegend(result)}
        <p class="path-links">
          ${linkButton("Show on the timeline", () => {
            const from = Math.min(...result.segments.map((segment) => segment.startNs));
            this.context.go("timeline", intervalQuestion(result.run.id, from, from + result.totalNs));
          })}
          ${linkButton("Why did it end here?", () => {
            this.context.go("slice", { target: { event: result.endEvent }, run: result.run.id });
          })}
        </p>
      </section>
      ${this.whatIf.draw(answer.params, result)} ${drawPathLanes(pathLanes(result), result.totalNs, this.laneActions)}
      <div class="path-tools">${this.drawLists()} ${zoomControls(this.zoom)}</div>
      ${this.drawList(result)}
    </div>`;
  }

  private drawLists(): TemplateResult {
    const { question } = this.context;
    return html`<div class="path-lists" role="tablist" aria-label="List">
      ${LISTS.map(
        ([list, name]) =>
          html`<button
            type="button"
            role="tab"
            aria-selected=${list === (question.shown ?? "order") ? "true" : "false"}
            @click=${() => {
              this.context.remember({ ...question, shown: list });
            }}
          >
            ${name}
          </button>`,
      )}
    </div>`;
  }

  private get laneActions(): LaneActions {
    return {
      selected: this.selected,
      zoom: this.zoom,
      attach: this.attachLanes,
      select: (segment) => {
        this.choose(segment.nodeId, segment);
        this.context.reveal(segment.location);
      },
    };
  }

  private readonly attachLanes = (element: Element | undefined): void => {
    if (!element) return;
    canBeSvg(element, () => {
      const { result } = this.answer ?? {};
      return result && pathLanesSvg(pathLanes(result), result.totalNs);
    });
  };

  /** Several segments may be of one label; `shown` is the one to be in sight. */
  private choose(label: string, shown?: PathSegment): void {
    this.selected = new Set([label]);
    this.context.store.changed();
    const pieces = this.answer ? pathLanes(this.answer.result).lanes.flatMap((lane) => lane.pieces) : [];
    const piece = pieces.find(({ segment }) => (shown ? segment === shown : segment.nodeId === label));
    if (piece) this.zoom.reveal(piece.from, piece.to);
  }

  private drawList(result: CriticalPathResult): TemplateResult {
    const { search } = this.context.store.state.place;
    const act: TableActions = {
      selected: this.selected,
      search,
      select: (label, location) => {
        this.choose(label);
        this.context.reveal(location);
      },
      why: (event) => {
        this.context.go("slice", { target: { event }, run: result.run.id });
      },
    };
    const { shown = "order" } = this.context.question;
    if (shown === "label") return byLabel(result, act);
    if (shown === "beside") return besidePath(result, act);
    return segmentList(
      result,
      {
        selected: this.selected,
        opened: this.opened,
        search,
        open: (row) => {
          this.opened = new Set([...this.opened, row.startNs]);
          this.context.store.changed();
        },
        select: (segment: PathSegment) => {
          this.choose(segment.nodeId, segment);
        },
        reveal: (location) => {
          this.context.reveal(location);
        },
      },
      true,
    );
  }
}

/** What a reader wants first: the whole, and the part that it hangs on. */
function sentence(result: CriticalPathResult): string {
  const whole = `${duration(result.totalNs)} in ${count(result.segments.length + result.hiddenSegments, "segment")}`;
  const [largest] = [...result.segments].sort((a, b) => b.selfNs + b.waitNs - (a.selfNs + a.waitNs));
  if (!largest || result.totalNs <= 0) return `${whole}.`;
  const share = Math.round((100 * (largest.selfNs + largest.waitNs)) / result.totalNs);
  const how = largest.waitNs > largest.selfNs ? "mostly waiting" : "mostly work";
  const waits = waitsOf(result)
    .slice(0, WAITS_NAMED)
    .map(({ word, ns }) => `${word} ${duration(ns)}`);
  const waited = waits.length > 0 ? ` Waits: ${waits.join(", ")}.` : "";
  return `${whole}; ${shortLabel(largest.label)} alone takes ${duration(largest.selfNs + largest.waitNs)} (${share} %), ${how}.${waited}`;
}
