/** The page of the entities view: canvases with their corner elements, the side panel, and the player. */
import { html, nothing, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import type { Clarity } from "../layouts/clarity";
import { clarityText } from "../model/sentences";
import { notice } from "../../../ui/parts";

export interface EntityPage {
  /** For the user, "" for nothing. */
  message: string;
  /** Told of the element that holds the canvases; one and the same at each drawing. */
  attach: (element: Element | undefined) => void;
  /** The picture in words, for screen readers. */
  summary: string;
  /** What happened last, for the same. */
  said: string;
  /** In the picture's corners. */
  corners: unknown;
  side: TemplateResult;
  clarity: Clarity | undefined;
  bar: TemplateResult;
}

export function entityPage({
  message,
  attach,
  summary,
  said,
  corners,
  side,
  clarity,
  bar,
}: EntityPage): TemplateResult {
  return html`<div class="view entities">
    ${message ? notice("info", message) : nothing}
    <div class="entities-body">
      <div class="entities-stage" ${ref(attach)}>
        <canvas aria-hidden="true"></canvas>
        <canvas aria-hidden="true"></canvas>
        <canvas
          class="front"
          tabindex="0"
          role="application"
          aria-roledescription="picture of entities"
          aria-label=${`${summary}. Left and right go back and forward in time, up and down go from entity to entity.`}
        ></canvas>
        ${corners}
      </div>
      <aside class="side entities-side">
        <div class="reading">${side}</div>
      </aside>
    </div>
    ${clarity ? figures(clarity) : nothing} ${bar}
    <p class="unseen" role="status">${said}</p>
  </div>`;
}

function figures(clarity: Clarity): TemplateResult {
  const { short, long } = clarityText(clarity);
  return html`<p class="entities-figures muted" title=${long}>${short}</p>`;
}
