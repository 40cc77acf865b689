/** The keys, as a dialog over the panel: those of all views, of the one that is shown, and of the ways to others. */
import { html, nothing, type TemplateResult } from "lit";
import type { Key, ViewKind } from "../views/view";
import { icon } from "./icons";

const KEYS: readonly Key[] = [
  { keys: "/", what: "search; Enter for the next match" },
  { keys: "n  N", what: "next and previous match" },
  { keys: "Alt ←", what: "back to the question before" },
  { keys: "Alt →", what: "forward again" },
  { keys: "w  W", what: "walk from what is selected; where w is a key of the view, by W" },
  { keys: "?", what: "this list" },
  { keys: "Esc", what: "close" },
];

export function helpDialog(kind: ViewKind | undefined, kinds: readonly ViewKind[], close: () => void): TemplateResult {
  const ways = kinds.filter((one) => one.key).map((one) => ({ keys: `g ${one.key}`, what: one.title }));
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
      ${kind && kind.keys.length > 0 ? list(kind.title, kind.keys) : nothing} ${list("Everywhere", KEYS)}
      ${list("To a view", ways)}
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
