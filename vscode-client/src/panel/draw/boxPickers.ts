/** What boxes are asked: the level that they begin at, what processes consist of, and the measure that colours them. */
import { html, nothing, type TemplateResult } from "lit";
import type { AggregateParams, AggregateResult } from "../../shared/protocol";
import { type BoxMeasure, MEASURE_ORDER, MEASURES } from "../model/aggregate";

interface Asked {
  /** Says which levels there are. */
  answer: AggregateResult | undefined;
  strands: "thread" | "task";
  measure: BoxMeasure;
}

/** `ask` is told of what becomes another one. */
export function boxPickers(
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
        ? picker("From", "Level that boxes begin at", answer.level, levels, (level) => {
            ask({ level, opened: [] });
          })
        : nothing
    }
    ${picker(
      "Of",
      "What processes consist of",
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
      "What boxes are compared by",
      measure,
      MEASURE_ORDER.map((one) => [one, MEASURES[one]] as const),
      (chosen) => {
        ask({ measure: chosen as BoxMeasure });
      },
    )}
  `;
}
