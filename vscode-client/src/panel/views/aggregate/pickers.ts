/** The pickers of the view: outermost level, contents of processes, and the measure for the colours. */
import { html, nothing, type TemplateResult } from "lit";
import type { AggregateParams, AggregateResult } from "../../../shared/protocol";
import { type NodeMeasure, MEASURE_ORDER, MEASURES } from "./model";

interface Asked {
  /** Says which levels there are. */
  answer: AggregateResult | undefined;
  strands: "thread" | "task";
  measure: NodeMeasure;
}

/** `ask` receives the changed fields of the question. */
export function aggregatePickers(
  { answer, strands, measure }: Asked,
  ask: (change: Partial<AggregateParams>) => void,
): TemplateResult {
  const picker = (
    word: string,
    label: string,
    chosen: string,
    options: readonly (readonly [value: string, words: string])[],
    pick: (value: string) => void,
  ): TemplateResult =>
    html`<label class="picker">
      <span class="word">${word}</span>
      <select
        aria-label=${label}
        @change=${(event: Event) => {
          pick((event.target as HTMLSelectElement).value);
        }}
      >
        ${options.map(([value, words]) => html`<option value=${value} .selected=${value === chosen}>${words}</option>`)}
      </select>
    </label>`;
  const levels = (answer?.nesting ?? []).map((level) => [level, level] as const);
  return html`
    ${
      answer
        ? picker("From", "Level of the outermost nodes", answer.level, levels, (level) => {
            ask({ level, opened: [] });
          })
        : nothing
    }
    ${picker(
      "Of",
      "Contents of processes",
      strands,
      [
        ["thread", "threads"],
        ["task", "tasks"],
      ],
      (chosen) => {
        ask({ strands: chosen as "thread" | "task", opened: [] });
      },
    )}
    ${picker(
      "Heat",
      "Measure for the colours",
      measure,
      MEASURE_ORDER.map((one) => [one, MEASURES[one]] as const),
      (chosen) => {
        ask({ measure: chosen as NodeMeasure });
      },
    )}
  `;
}
