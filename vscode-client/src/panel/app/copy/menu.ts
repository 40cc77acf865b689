/** Draws the menu of copy formats. */
import { html, nothing, type TemplateResult } from "lit";
import type { CopyFormat } from "./formats";
import { icon } from "../../ui/icons";

export type CopyChoice = CopyFormat | "link";

const WORDS: Readonly<Record<CopyChoice, string>> = {
  link: "Link to this view",
  csv: "Table as CSV",
  svg: "Drawing as SVG",
  png: "Picture as PNG",
};

/** `choices`: undefined while the menu is closed. */
export function copyMenu(
  choices: readonly CopyChoice[] | undefined,
  toggle: () => void,
  copy: (choice: CopyChoice) => void,
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
            ${choices.length === 0 ? html`<p class="muted">This view has nothing to copy.</p>` : nothing}
          </div>`
        : nothing
    }
  </div>`;
}
