/** The zoom buttons below a picture. */
import { html, nothing, type TemplateResult } from "lit";
import { icon } from "./icons";

export interface Zoomable {
  zoomBy(factor: number): void;
  /** Shows all of it. */
  fit(): void;
}

/** Of each step closer. */
export const ZOOM_STEP = 1.3;

export function toolButton(name: Parameters<typeof icon>[0], title: string, run: () => void): TemplateResult {
  return html`<button type="button" title=${title} aria-label=${title} @click=${run}>${icon(name)}</button>`;
}

/** `more` precedes the zoom buttons; `all` is the key that shows all. */
export function zoomControls(picture: Zoomable, more: unknown = nothing, all = "f"): TemplateResult {
  return html`<div class="graph-controls" role="toolbar" aria-label="Zoom">
    ${more}
    ${toolButton("minus", "Zoom out (−)", () => {
      picture.zoomBy(1 / ZOOM_STEP);
    })}
    ${toolButton("plus", "Zoom in (+)", () => {
      picture.zoomBy(ZOOM_STEP);
    })}
    ${toolButton("fit", `Show all (${all})`, () => {
      picture.fit();
    })}
  </div>`;
}
