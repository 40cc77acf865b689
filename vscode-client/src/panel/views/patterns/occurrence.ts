/** The shown occurrence of a pattern, with buttons for the previous and the next one. */
import { html, type TemplateResult } from "lit";
import type { Location, PatternOccurrence, PatternRow } from "../../../shared/protocol";
import { count, duration, thousands } from "../../ui/text/format";
import { clock } from "../../ui/timeSpan";
import { linkButton, placeLink } from "../../ui/parts";

interface Looked {
  occurrence: PatternOccurrence | undefined;
  all: number;
}

export interface OccurrenceActions {
  readonly workspace: string;
  step(by: 1 | -1): void;
  reveal(location: Location): void;
  showTime(): void;
}

/** `all`: how often the pattern of the row occurs in the window. */
export function drawOccurrence(row: PatternRow, { occurrence, all }: Looked, act: OccurrenceActions): TemplateResult {
  const step = (by: 1 | -1, name: string, title: string): TemplateResult =>
    html`<button
      type="button"
      class="quiet"
      title=${title}
      aria-label=${title}
      @click=${() => {
        act.step(by);
      }}
    >
      ${name}
    </button>`;
  return html`<p class="occurrence" role="status">
    ${step(-1, "‹", "Previous occurrence (N)")} ${step(1, "›", "Next occurrence (n)")}
    ${
      occurrence
        ? html`<b>${thousands(occurrence.number + 1)} of ${thousands(all)}</b> at ${clock(occurrence.fromNs)},
            ${duration(occurrence.toNs - occurrence.fromNs)}, in
            ${[occurrence.process, occurrence.name].filter(Boolean).join(" / ")}
            ${placeLink(occurrence.location, act.workspace, (location) => {
              act.reveal(location);
            })}
            ${linkButton("Show on the timeline", () => {
              act.showTime();
            })}`
        : html`<span class="muted">${count(row.count, "occurrence")}: use n and N to go through them</span>`
    }
  </p>`;
}
