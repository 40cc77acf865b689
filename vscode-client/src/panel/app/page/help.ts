/** The dialog of keys: those of all views, those of the current view, and those that open other views. */
import { html, nothing, type TemplateResult } from "lit";
import type { Key, ViewManifest } from "../../views/contract";
import { icon } from "../../ui/icons";

const KEYS: readonly Key[] = [
  { keys: "/", what: "search; Enter goes to the next match" },
  { keys: "n  N", what: "next, previous match" },
  { keys: "Alt ←", what: "back to the previous question" },
  { keys: "Alt →", what: "forward" },
  { keys: "w  W", what: "walk from the selected event; W if the view itself uses w" },
  { keys: "?", what: "show this list" },
  { keys: "Esc", what: "close" },
];

export function helpDialog(
  manifest: ViewManifest | undefined,
  manifests: readonly ViewManifest[],
  close: () => void,
): TemplateResult {
  const ways = manifests.filter((one) => one.key).map((one) => ({ keys: `g ${one.key}`, what: one.title }));
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
      ${manifest && manifest.keys.length > 0 ? list(manifest.title, manifest.keys) : nothing} ${list("All views", KEYS)}
      ${list("Go to a view", ways)}
      <button type="button" class="quiet close" aria-label="Close" @click=${close}>${icon("close")}</button>
    </section>
  </div>`;
}

function list(title: string, keys: readonly Key[]): TemplateResult {
  return html`<h3>${title}</h3>
    <dl>
      ${keys.map(
        (one) =>
          html`<dt><kbd>${one.keys}</kbd></dt>
            <dd>${one.what}</dd>`,
      )}
    </dl>`;
}
