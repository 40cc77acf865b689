/** The legend of the picture of entities: colours, widths and outlines. */
import { html, nothing, svg, type TemplateResult } from "lit";
import type { EntityBox } from "../../../../shared/protocol";
import { thousands } from "../../../ui/text/format";
import { type EntityColours, SHADES } from "../paint/colours";

export function entityLegend(
  { load, line, known, edge }: EntityColours,
  busiest: number,
  boxes: ReadonlyMap<number, EntityBox>,
): TemplateResult {
  const has = (presence: EntityBox["presence"]): boolean =>
    [...boxes.values()].some((box) => box.presence === presence);
  const sample = (picture: unknown): TemplateResult =>
    html`<svg class="sample" viewBox="0 0 34 12" aria-hidden="true">${picture}</svg>`;
  return html`<details class="legend entities-legend">
    <summary>Legend</summary>
    <ul>
      <li>
        <svg class="scale" viewBox="0 0 ${SHADES} 1" preserveAspectRatio="none" aria-hidden="true">
          ${load.map((colour, at) => svg`<rect x=${at} width="1.02" height="1" fill=${colour} />`)}
        </svg>
        <span>recently busy: 0 to ${thousands(busiest)} communications</span>
      </li>
      <li>
        ${sample(svg`<path d="M2 6H32" stroke=${line} stroke-width="1.25" /><path d="M18 6H32" stroke=${line} stroke-width="5" />`)}
        <span>recent communication, fading; wider lines: more communication</span>
      </li>
      <li>${sample(svg`<path d="M2 6H32" stroke=${known} />`)} <span>communication at some time in the run</span></li>
      <li>
        ${sample(svg`<circle cx="17" cy="6" r="5" fill=${load[2] ?? ""} stroke=${edge} />`)} <span>an entity</span>
      </li>
      <li>
        ${sample(svg`<rect x="11.5" y=".5" width="11" height="11" rx="3" fill="none" stroke=${edge} />`)}
        <span>a container; a number counts contents that are not drawn</span>
      </li>
      ${
        has("unplaced")
          ? html`<li>
              ${sample(svg`<circle cx="17" cy="6" r="5" fill="none" stroke=${edge} stroke-dasharray="3 2" />`)}
              <span>container unknown</span>
            </li>`
          : nothing
      }
      ${
        has("gone")
          ? html`<li>
              ${sample(svg`<rect x="11.5" y=".5" width="11" height="11" rx="3" fill="none" stroke=${edge} stroke-dasharray="3 2" />`)}
              <span>deleted, but not empty</span>
            </li>`
          : nothing
      }
    </ul>
  </details>`;
}
