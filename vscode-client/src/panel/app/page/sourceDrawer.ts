/** The drawer with source code around a location, for pages without an editor. */
import { html, nothing, type TemplateResult } from "lit";
import { createRef, ref } from "lit/directives/ref.js";
import type { SourceResult } from "../../../shared/protocol";
import { place } from "../../ui/text/format";
import { icon } from "../../ui/icons";
import { sentence } from "../../ui/parts";

export function sourceDrawer(
  source: SourceResult,
  marked: number,
  workspace: string,
  close: () => void,
): TemplateResult {
  const title = place(source.path, marked, workspace);
  return html`<section class="source" aria-label=${`Source of ${title}`}>
    <header>
      <h3>${title}</h3>
      <button type="button" class="quiet" aria-label="Close the source" title="Close (Esc)" @click=${close}>
        ${icon("close")}
      </button>
    </header>
    ${source.message ? html`<p class="notice info">${sentence(source.message)}</p>` : nothing}
    <pre tabindex="0" aria-label="Source">
${source.lines.map((line, index) => sourceLine(line, source.firstLine + index, marked))}</pre>
  </section>`;
}

const markedLine = createRef<HTMLElement>();

/** Brings the marked line to the middle of the drawer; to be called when another place was drawn. */
export function showMarkedLine(): void {
  markedLine.value?.scrollIntoView({ block: "center" });
}

function sourceLine(line: string, number: number, marked: number): TemplateResult {
  const content = html`<span class="line-number">${number}</span>${line || "\u200b"}`;
  return number === marked
    ? html`<code class="marked" ${ref(markedLine)}>${content}</code>`
    : html`<code>${content}</code>`;
}
