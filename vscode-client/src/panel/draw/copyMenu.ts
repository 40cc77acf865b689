/** What of the view can be taken along, as a small menu. */
import { html, nothing, type TemplateResult } from "lit";
import type { What } from "../copy";
import { icon } from "./icons";

export type Choice = What | "link";

const WORDS: Readonly<Record<Choice, string>> = {
  link: "Link to this",
  csv: "Table as CSV",
  svg: "Drawing as SVG",
  png: "Picture as PNG",
};

/** `choices`: undefined as long as nobody opened it. */
export function copyMenu(
  choices: readonly Choice[] | undefined,
  toggle: () => void,
  copy: (choice: Choice) => void,
): TemplateResult {
  return html`<div class="copy-menu">
    <button
      type="button"
      class="quiet"
      title="Copy"
      aria-label="Copy"
      aria-haspopup="menu"
      aria-expanded=${choices ? "true" : "false"}
      @click=${toggle}
    >
      ${icon("copy")}
    </button>
    ${
      choices
        ? html`<div role="menu" aria-label="Copy">
            ${choices.map(
              (choice) =>
                html`<button
                  type="button"
                  role="menuitem"
                  @click=${() => {
                    copy(choice);
                  }}
                >
                  ${WORDS[choice]}
                </button>`,
            )}
            ${choices.length === 0 ? html`<p class="muted">There is nothing to copy here.</p>` : nothing}
          </div>`
        : nothing
    }
  </div>`;
}
