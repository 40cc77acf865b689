/** The direction of a slice: to the causes of its event, or to the effects. */
import { html, type TemplateResult } from "lit";
import type { Target } from "../../../shared/protocol";
import { describeTarget } from "../../app/question";

export type Direction = "backward" | "forward";

/** `choose` runs only if the direction changes. */
export function directionSwitch(
  target: Target,
  chosen: Direction,
  choose: (direction: Direction) => void,
): TemplateResult {
  const choice = (direction: Direction, word: string, title: string): TemplateResult =>
    html`<button
      type="button"
      aria-pressed=${chosen === direction ? "true" : "false"}
      title=${title}
      @click=${() => {
        if (chosen !== direction) choose(direction);
      }}
    >
      ${word}
    </button>`;
  return html`<div class="choice" role="group" aria-label="Direction">
    ${choice("backward", "Causes", `Causes of ${describeTarget(target)}`)}
    ${choice("forward", "Effects", `Effects of ${describeTarget(target)}`)}
  </div>`;
}
