/** The toolbar above the picture of two flows: mode, folding, anchor, measuring, and the threshold for marks. */
import { html, nothing, type TemplateResult } from "lit";
import { FLOW_MODES, type FlowMode, MODE_WORDS } from "../model/mode";
import { ALPHAS, GROWTHS, percent, stepOf, type Threshold } from "../model/significance";
import { icon } from "../../../../ui/icons";
import { checkbox } from "./controls";

export interface Toolbar {
  mode: FlowMode;
  change: (mode: FlowMode) => void;
  repeats: boolean;
  equal: boolean;
  fold: (change: { repeats?: boolean; equal?: boolean }) => void;
  /** The anchor's name, "" for none, and whether something is chosen that could be one. */
  anchor: string;
  canAnchor: boolean;
  toggleAnchor: () => void;
  measuring: boolean;
  toggleMeasuring: () => void;
  next: (by: 1 | -1) => void;
  differences: number;
  /** Has the picture all the room? */
  wide: boolean;
  widen: (wide: boolean) => void;
}

export function flowToolbar(bar: Toolbar): TemplateResult {
  const go = (by: 1 | -1, title: string, name: "back" | "forward"): TemplateResult =>
    html`<button
      type="button"
      class="quiet"
      title=${title}
      aria-label=${title}
      ?disabled=${bar.differences === 0}
      @click=${() => {
        bar.next(by);
      }}
    >
      ${icon(name)}
    </button>`;
  return html`<div class="flow-toolbar" role="toolbar" aria-label="Comparison of the two flows">
    <div class="modes" role="radiogroup" aria-label="Comparison mode (m)">
      ${FLOW_MODES.map(
        (mode) =>
          html`<button
            type="button"
            role="radio"
            aria-checked=${mode === bar.mode ? "true" : "false"}
            title="${MODE_WORDS[mode].hint} (m)"
            @click=${() => {
              bar.change(mode);
            }}
          >
            ${MODE_WORDS[mode].name}
          </button>`,
      )}
    </div>
    ${checkbox(shortened("Fold", "equal calls"), bar.equal, (equal) => {
      bar.fold({ equal });
    })}
    ${checkbox(shortened("Group", "repeats"), bar.repeats, (repeats) => {
      bar.fold({ repeats });
    })}
    <button
      type="button"
      aria-pressed=${bar.anchor ? "true" : "false"}
      ?disabled=${!bar.anchor && !bar.canAnchor}
      title=${bar.anchor ? `Anchored at ${bar.anchor}; press to release (a)` : "Keep the selected call at the same place in both flows (a)"}
      @click=${bar.toggleAnchor}
    >
      ${bar.anchor ? "Anchored" : shortened("Anchor", "here")}
    </button>
    <button
      type="button"
      aria-pressed=${bar.measuring ? "true" : "false"}
      title="Time from the start of one call to the end of another (s)"
      @click=${bar.toggleMeasuring}
    >
      ${shortened("Measure", "an interval")}
    </button>
    <span class="walk"> ${go(-1, "Previous difference ([)", "back")}${go(1, "Next difference (])", "forward")} </span>
    <button
      type="button"
      class="quiet"
      aria-pressed=${bar.wide ? "true" : "false"}
      title=${bar.wide ? "Restore the table and the details (w)" : "Maximise the picture (w)"}
      aria-label="Maximise the picture"
      @click=${() => {
        bar.widen(!bar.wide);
      }}
    >
      ${icon("fit")}
    </button>
  </div>`;
}

/** The second words are heard, but seen only where there is room. */
function shortened(first: string, rest: string): TemplateResult {
  return html`<span>${first}<span class="rest"> ${rest}</span></span>`;
}

export function thresholdPicker(
  threshold: Threshold,
  explanation: readonly string[],
  change: (threshold: Threshold) => void,
): TemplateResult {
  const slider = (
    name: string,
    steps: readonly number[],
    value: number,
    words: string,
    pick: (value: number) => void,
  ): TemplateResult =>
    html`<label
      ><span>${name}</span>
      <input
        type="range"
        min="0"
        max=${steps.length - 1}
        step="1"
        aria-label=${name}
        aria-valuetext=${words}
        .value=${String(stepOf(steps, value))}
        @input=${(event: Event) => {
          pick(steps[Number((event.target as HTMLInputElement).value)] ?? value);
        }}
      />
      <output>${words}</output></label
    >`;
  const { alpha, slower } = threshold;
  return html`<div class="threshold">
    ${slider("Chance in", ALPHAS, alpha, alpha >= 1 ? "all cases" : `≤ ${percent(alpha)} of cases`, (to) => {
      change({ alpha: to, slower });
    })}
    ${slider("Grew by", GROWTHS, slower, slower === 0 ? "anything" : `≥ ${percent(slower)}`, (to) => {
      change({ alpha, slower: to });
    })}
    ${explanation.length > 0 ? html`<p role="status">${explanation.map((one) => html`${one} `)}</p>` : nothing}
  </div>`;
}
