/** The keys, as a dialog over the panel. */
import { html, type TemplateResult } from "lit";
import { icon } from "./icons";

const KEYS: readonly (readonly [string, string])[] = [
  ["← ↑ → ↓", "move along the edges"],
  ["Enter", "show the source"],
  ["/", "search; Enter for the next match"],
  ["n  N", "next and previous match"],
  ["f", "show all"],
  ["+  −", "zoom"],
  ["p", "critical path on or off"],
  ["Alt ←", "back to the question before"],
  ["Esc", "close, or select nothing"],
];

export function helpDialog(close: () => void): TemplateResult {
  return html`<div class="overlay" @click=${close}>
    <section
      class="help"
      role="dialog"
      aria-modal="true"
      aria-label="Keys"
      @click=${(event: Event) => {
        event.stopPropagation();
      }}
    >
      <h2>Keys</h2>
      <dl>
        ${KEYS.map(
          ([key, what]) =>
            html`<dt><kbd>${key}</kbd></dt>
              <dd>${what}</dd>`,
        )}
      </dl>
      <button type="button" class="quiet close" aria-label="Close" @click=${close}>${icon("close")}</button>
    </section>
  </div>`;
}
