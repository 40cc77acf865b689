/** Which way a slice goes from its event: to what led to it, or to what came of it. */
import { html, type TemplateResult } from "lit";
import type { Target } from "../../shared/protocol";
import { describeTarget } from "../model/question";

export type Direction = "backward" | "forward";

/** `choose` is told of another direction than the chosen one only. */
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
    ${choice("backward", "Causes", `What led to ${describeTarget(target)}`)}
    ${choice("forward", "Effects", `What came of ${describeTarget(target)}`)}
  </div>`;
}
