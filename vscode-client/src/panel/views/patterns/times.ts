/**
 * The occurrences of a pattern over time: a row of bars per thread and task in the window, and the whole run with a brush below.
 *
 * Invariant: answers for an earlier window are drawn at their correct times until the new answer arrives.
 */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import type { PatternLane, PatternOccurrence, PatternTimesResult } from "../../../shared/protocol";
import { between, dragged, type Grip, gripAt, isWhole, timeOf } from "./brush";
import { barsPath, relativeShares, shares } from "./histogram";
import { count, duration, thousands } from "../../ui/text/format";
import { clock, lengthOf, nsAt, type Span, stepOf, ticks } from "../../ui/timeSpan";
import { linkButton } from "../../ui/parts";

export interface TimesActions {
  /** Another window. */
  show(span: Span): void;
  /** The occurrence nearest to a time; `open`: show its details. */
  pick(strand: number, ns: number, open: boolean): void;
}

/** So near to an end of the brush a hand takes hold of it, in px. */
const NEAR = 7;
/** So far a hand moves without meaning to drag. */
const STILL = 3;
const TICK_PX = 100;
/** More lanes are drawn lower. */
const MANY = 8;

export function drawTimes(
  times: PatternTimesResult,
  span: Span,
  width: number,
  occurrence: PatternOccurrence | undefined,
  act: TimesActions,
): TemplateResult {
  const all = { from: 0, to: times.endNs };
  const marked = ticks(span, width, TICK_PX).filter((tick) => tick.ns >= span.from && tick.ns < span.to);
  const share = (ns: number): number => (100 * (ns - span.from)) / lengthOf(span);
  return html`<div class="times">
    <div class="times-lanes ${times.lanes.length > MANY ? "many" : ""}">
      ${times.lanes.map((lane) => drawLane(lane, times, span, occurrence, act))}
      ${times.lanes.length === 0 ? html`<p class="muted">No occurrences in this window.</p>` : nothing}
    </div>
    ${times.hiddenLanes > 0 ? html`<p class="muted">and in ${times.hiddenLanes === 1 ? "one more thread or task" : `${thousands(times.hiddenLanes)} more threads and tasks`}</p>` : nothing}
    <div class="times-row">
      <span></span>
      <svg class="times-axis" aria-hidden="true">
        ${marked.map(
          (tick) =>
            svg`<line x1="${share(tick.ns)}%" x2="${share(tick.ns)}%" y2="4" />
              <text x="${share(tick.ns)}%" y="15" dx="2">${tick.label}</text>`,
        )}
      </svg>
    </div>
    <div class="times-row">
      <span class="times-name">whole run</span>
      ${drawWhole(times, span, all, act)}
    </div>
    ${drawEnds(span, all, width, act)}
  </div>`;
}

function drawLane(
  lane: PatternLane,
  times: PatternTimesResult,
  span: Span,
  occurrence: PatternOccurrence | undefined,
  act: TimesActions,
): TemplateResult {
  const parts = lane.ns.length;
  const answered = times.toNs - times.fromNs;
  const toPart = (ns: number): number => ((ns - times.fromNs) / answered) * parts;
  const path = barsPath(shares(lane.ns, answered, lane.begun));
  const bare = lane.name || "a task";
  const isOne = times.lanes.every((one) => one.process === lane.process);
  const name = isOne ? bare : `${bare} of ${lane.process}`;
  const said = `${lane.process} / ${bare}: ${count(lane.count, "time")}`;
  const pick = (event: MouseEvent, open: boolean): void => {
    act.pick(lane.strand, Math.round(nsOf(event, span)), open);
  };
  const isHere = occurrence?.strand === lane.strand;
  return html`<div class="times-row">
    <span class="times-name" title=${said}>${name} <small>${thousands(lane.count)}</small></span>
    <svg
      class="times-lane"
      role="img"
      aria-label=${said}
      preserveAspectRatio="none"
      viewBox="${toPart(span.from)} 0 ${toPart(span.to) - toPart(span.from)} 1"
      @pointerdown=${(event: PointerEvent) => {
        drag(event, span, { from: 0, to: times.endNs }, "new", act, () => {
          pick(event, false);
        });
      }}
      @dblclick=${(event: MouseEvent) => {
        pick(event, true);
      }}
    >
      <rect class="track" x=${toPart(span.from)} width=${toPart(span.to) - toPart(span.from)} height="1" />
      <path class="occurs" d=${path} />
      ${isHere ? occurrenceMark(toPart(occurrence.fromNs), toPart(occurrence.toNs)) : nothing}
    </svg>
  </div>`;
}

/** A line around it that is as wide however far one has zoomed. */
function occurrenceMark(from: number, to: number): SVGTemplateResult {
  return svg`<rect class="here" x=${from} width=${Math.max(to - from, 0)} height="1" vector-effect="non-scaling-stroke" />`;
}

function drawWhole(times: PatternTimesResult, span: Span, all: Span, act: TimesActions): TemplateResult {
  const parts = Math.max(times.whole.length, 1);
  const at = (ns: number): number => (ns / Math.max(all.to, 1)) * parts;
  const whole = isWhole(span, all);
  return html`<svg
    class="times-whole"
    tabindex="0"
    role="slider"
    aria-label="Shown window of the run"
    aria-valuemin="0"
    aria-valuemax=${all.to}
    aria-valuenow=${Math.round(span.from)}
    aria-valuetext="${clock(span.from)} to ${clock(span.to)}, ${duration(lengthOf(span))}"
    preserveAspectRatio="none"
    viewBox="0 0 ${parts} 1"
    @pointerdown=${(event: PointerEvent) => {
      const near = (NEAR / widthOf(event)) * lengthOf(all);
      const ns = nsOf(event, all);
      drag(event, all, all, gripAt(ns, span, all, near), act, () => undefined, span);
    }}
    @dblclick=${() => {
      act.show(all);
    }}
  >
    <rect class="track" width=${parts} height="1" />
    <path class="occurs" d=${barsPath(relativeShares(times.whole))} />
    ${
      whole
        ? nothing
        : svg`<rect class="outside" width=${at(span.from)} height="1" />
          <rect class="outside" x=${at(span.to)} width=${Math.max(0, parts - at(span.to))} height="1" />`
    }
    <rect
      class="brush"
      x=${at(span.from)}
      width=${at(span.to) - at(span.from)}
      height="1"
      vector-effect="non-scaling-stroke"
    />
  </svg>`;
}

/** The window in words, to be written exactly. */
function drawEnds(span: Span, all: Span, width: number, act: TimesActions): TemplateResult {
  const step = Math.max(1, 10 ** Math.floor(Math.log10(Math.max(1, stepOf(span, width, 1)))));
  const field = (name: "from" | "to", ns: number): TemplateResult =>
    html`<label
      >${name}
      <input
        type="text"
        size="16"
        spellcheck="false"
        .value=${clock(ns, isWhole(span, all) ? step : 1)}
        title=${`${thousands(ns)} ns after the run's start; enter 1.5 s, 20 ms, 300 µs or 12,500 ns`}
        @change=${(event: Event) => {
          const input = event.target as HTMLInputElement;
          const wanted = timeOf(input.value);
          if (wanted === undefined) input.value = clock(ns);
          else act.show(name === "from" ? between(wanted, span.to, all) : between(span.from, wanted, all));
        }}
    /></label>`;
  return html`<p class="times-ends">
    ${field("from", span.from)} ${field("to", span.to)} <span class="muted">${duration(lengthOf(span))}</span>
    ${
      isWhole(span, all)
        ? nothing
        : linkButton("Show the whole run", () => {
            act.show(all);
          })
    }
  </p>`;
}

/** Follows a hand from where it pressed; one that stays still has clicked. `scale`: the times that the shape shows. */
function drag(
  event: PointerEvent,
  scale: Span,
  all: Span,
  grip: Grip,
  act: TimesActions,
  clicked: () => void,
  span: Span = scale,
): void {
  if (event.button !== 0 || !(event.currentTarget instanceof SVGSVGElement)) return;
  const element = event.currentTarget;
  const start = nsOf(event, scale);
  const node = element.getBoundingClientRect();
  let moved = false;
  element.setPointerCapture(event.pointerId);
  const listening = new AbortController();
  let brushed: Span | undefined;
  element.addEventListener(
    "pointermove",
    (now) => {
      moved ||= Math.abs(now.clientX - event.clientX) > STILL;
      if (!moved) return;
      brushed = dragged(grip, start, nsAt(now.clientX - node.left, scale, Math.max(1, node.width)), span, all);
      // A window that is drawn in the one above is shown when it is done: else the ground would move under the hand.
      if (scale === all) act.show(brushed);
    },
    { signal: listening.signal },
  );
  element.addEventListener(
    "pointerup",
    () => {
      listening.abort();
      if (!moved) clicked();
      else if (brushed && scale !== all) act.show(brushed);
    },
    { signal: listening.signal },
  );
  element.addEventListener(
    "pointercancel",
    () => {
      listening.abort();
    },
    { signal: listening.signal },
  );
}

function widthOf(event: MouseEvent): number {
  return event.currentTarget instanceof Element ? Math.max(1, event.currentTarget.getBoundingClientRect().width) : 1;
}

function nsOf(event: MouseEvent, span: Span): number {
  const left = event.currentTarget instanceof Element ? event.currentTarget.getBoundingClientRect().left : 0;
  return nsAt(event.clientX - left, span, widthOf(event));
}
