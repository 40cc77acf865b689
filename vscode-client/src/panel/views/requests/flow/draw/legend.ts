/** The legend of the shapes of two flows. */
import { html, svg, type SVGTemplateResult, type TemplateResult } from "lit";

export function flowLegend(): TemplateResult {
  const row = (sample: SVGTemplateResult, words: string): TemplateResult =>
    html`<li><svg class="sample" viewBox="0 0 34 14" aria-hidden="true">${sample}</svg> ${words}</li>`;
  const node = (classes: string): SVGTemplateResult =>
    svg`<g class="node flow-call ${classes}"><rect class="box" x="3" y="1.5" width="28" height="11" rx="3" /></g>`;
  const bars = (sure: string): SVGTemplateResult =>
    svg`<path class="flow-edge both ${sure}" d="M1 7H8" /><line class="flow-bar before ${sure}" x1="8" x2="20" y1="4.5" y2="4.5" />
      <line class="flow-bar after ${sure}" x1="8" x2="33" y1="9.5" y2="9.5" />`;
  return html`<details class="legend">
    <summary>Legend</summary>
    <ul>
      ${row(node("before"), "− only before")} ${row(node("after"), "+ only after")}
      ${row(bars(""), "an edge; a longer bar means a longer latency, before and after")}
      ${row(bars("sure"), "▲ significantly slower")}
      ${row(node("both significant"), "▲ self time significantly slower")}
      ${row(node("equal"), "folded: on both sides, none significantly slower")}
      ${row(svg`<g class="join"><path d="M2 3V11H30" /><circle cx="30" cy="11" r="2.5" /></g>`, "waiting for the last of several calls")}
      ${row(svg`<path class="correspondence strong" d="M2 7H32" />`, "the same call on both sides")}
    </ul>
  </details>`;
}
