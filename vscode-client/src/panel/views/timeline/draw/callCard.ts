/**
 * A call of the timeline in words: below the picture for the selected call, at the pointer for the hovered one; and the measured
 * interval.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { Location, TimelineCall, TimelineMatch } from "../../../../shared/protocol";
import { duration } from "../../../ui/text/format";
import { lengthOf, type Span } from "../../../ui/timeSpan";
import { callSentence } from "../sentences";
import { linkButton, placeLink } from "../../../ui/parts";

/** Of the card, in px. */
const CARD = 300;

export interface CallActions {
  readonly workspace: string;
  reveal(location: Location): void;
  zoomTo(call: TimelineCall): void;
  /** What led to an event. */
  why(event: number): void;
  /** More ways on from it. */
  more(call: TimelineCall): unknown;
}

/** A call, and where the pointer is. */
export interface CardPlace {
  call: TimelineCall;
  x: number;
  y: number;
}

/** The call that is selected, and the log line that was searched for, where it is one of that call's. */
export function selectedCall(
  call: TimelineCall | undefined,
  match: TimelineMatch | undefined,
  act: CallActions,
): TemplateResult {
  const line = match?.text && match.call?.event === call?.event ? match.text : "";
  if (!call && line) return html`<span>“${line}”</span>`;
  if (!call)
    return html`<span class="muted">Click a call, or use the arrow keys. Wheel: zoom. Shift and drag: measure.</span>`;
  return html`<span>${line ? `“${line}” · ` : ""}${callSentence(call)}</span> ${placeLink(
      call.location,
      act.workspace,
      (location) => {
        act.reveal(location);
      },
    )}
    ${linkButton("Zoom to call", () => {
      act.zoomTo(call);
    })}
    ${linkButton("Show its causes", () => {
      act.why(call.event);
    })}
    ${act.more(call)}`;
}

/** What is measured: closer to it, or no longer. */
export function brushTools(brush: Span, act: { zoomIn(): void; clear(): void }): TemplateResult {
  return html`<span>measured <b>${duration(lengthOf(brush))}</b></span> ${linkButton("Zoom in", () => {
      act.zoomIn();
    })}
    ${linkButton("Clear", () => {
      act.clear();
    })}`;
}

/** Beside the pointer, within `width` px. */
export function callCard({ call, x, y }: CardPlace, width: number): TemplateResult {
  const left = Math.max(4, Math.min(x + 14, width - CARD));
  return html`<div class="timeline-card" aria-hidden="true" .style=${`left: ${left}px; top: ${y + 18}px`}>
    <b>${call.label}</b>${call.resumed ? html` <small>continued after waiting</small>` : nothing}
    <p>${duration(call.toNs - call.fromNs)}, self time ${duration(Math.max(0, call.selfNs))}</p>
    <p class="muted">${call.strandName} of ${call.process} · event ${call.event}</p>
  </div>`;
}
