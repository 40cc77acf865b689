/** The critical path of a request or an event: which waits and which work the time from start to end consists of. */
import { html, nothing, type TemplateResult } from "lit";
import type { CriticalPathParams, CriticalPathResult, PathSegment } from "../../shared/protocol";
import { asking, emptyState, notice, RECORD_COMMAND } from "../draw/parts";
import { segmentLegend, segmentList } from "../draw/segments";
import { count, duration, shortLabel } from "../model/format";
import { stretchQuestion } from "../model/timeline";
import type { Context, Selection, View } from "./view";

interface Answer {
  params: CriticalPathParams;
  result: CriticalPathResult;
}

export class CriticalPathView implements View<CriticalPathParams, Answer> {
  private answer: Answer | undefined;
  private asked = 0;
  private selected: ReadonlySet<string> = new Set();
  private opened: ReadonlySet<number> = new Set();

  constructor(private readonly context: Context<CriticalPathParams>) {}

  async open(params: CriticalPathParams): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const result = await this.context.request("clew/criticalPath", params);
    if (asked === this.asked) this.handle({ params, result });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.selected = new Set();
    this.opened = new Set();
    this.context.store.changed();
  }

  unhandle(): void {
    this.answer = undefined;
    this.asked += 1;
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

  shownRun(): string | undefined {
    return this.answer?.result.run.id;
  }

  focus(): void {
    document.querySelector<HTMLElement>(".segments tbody tr")?.focus();
  }

  draw(): TemplateResult {
    const answer = this.answer;
    const { busy, runs, runsKnown } = this.context.store.state;
    if (!answer) return html`<div class="view">${busy > 0 ? asking("Asking …") : nothing}</div>`;
    const { result } = answer;
    if (result.segments.length === 0) {
      return html`<div class="view">
        ${
          runs.length === 0 && runsKnown
            ? emptyState("No run yet", "Record your program in a terminal, then come back:", RECORD_COMMAND)
            : emptyState(result.title || "No path", result.message || "There is no path to show here.")
        }
      </div>`;
    }
    return html`<div class="view scrolling">
      <section class="summary">
        <h2>${result.title}</h2>
        <p class="sentence">${sentence(result)}</p>
        ${result.message ? notice("info", result.message) : nothing} ${segmentLegend(result)}
        <p>
          <button
            type="button"
            class="link"
            @click=${() => {
              const from = Math.min(...result.segments.map((segment) => segment.startNs));
              this.context.go("timeline", stretchQuestion(result.run.id, from, from + result.totalNs));
            }}
          >
            Show it on the timeline
          </button>
        </p>
      </section>
      ${segmentList(
        result,
        {
          selected: this.selected,
          opened: this.opened,
          open: (row) => {
            this.opened = new Set([...this.opened, row.startNs]);
            this.context.store.changed();
          },
          select: (segment: PathSegment) => {
            this.selected = new Set([segment.nodeId]);
            this.context.store.changed();
          },
          reveal: (location) => {
            this.context.reveal(location);
          },
        },
        true,
      )}
    </div>`;
  }
}

/** What a reader wants first: the whole, and the part that it hangs on. */
function sentence(result: CriticalPathResult): string {
  const whole = `${duration(result.totalNs)} in ${count(result.segments.length + result.hiddenSegments, "segment")}`;
  const [largest] = [...result.segments].sort((a, b) => b.selfNs + b.waitNs - (a.selfNs + a.waitNs));
  if (!largest || result.totalNs <= 0) return `${whole}.`;
  const share = Math.round((100 * (largest.selfNs + largest.waitNs)) / result.totalNs);
  const how = largest.waitNs > largest.selfNs ? "most of it waiting" : "most of it work";
  return `${whole}; ${shortLabel(largest.label)} alone takes ${duration(largest.selfNs + largest.waitNs)} (${share} %), ${how}.`;
}
