/** The icons of the panel, 16 px, in the colour of the text. */
import { html, svg, type SVGTemplateResult, type TemplateResult } from "lit";

const SHAPES = {
  back: svg`<path d="M10 3 5 8l5 5" />`,
  forward: svg`<path d="m6 3 5 5-5 5" />`,
  play: svg`<path d="M4.5 3v10l8.5-5Z" />`,
  pause: svg`<path d="M5 3v10M11 3v10" />`,
  reverse: svg`<path d="M11.5 3v10L3 8Z" />`,
  first: svg`<path d="M4 3v10M12 3 7 8l5 5" />`,
  last: svg`<path d="M12 3v10M4 3l5 5-5 5" />`,
  close: svg`<path d="m4 4 8 8M12 4l-8 8" />`,
  help: svg`<path d="M6 6.2a2 2 0 1 1 2.8 1.9c-.6.3-.8.7-.8 1.4M8 12v.1" /><circle cx="8" cy="8" r="6.5" />`,
  fit: svg`<path d="M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10" />`,
  plus: svg`<path d="M8 3v10M3 8h10" />`,
  minus: svg`<path d="M3 8h10" />`,
  down: svg`<path d="M8 2.5v10M4.5 9 8 12.5 11.5 9" />`,
  right: svg`<path d="M2.5 8h10M9 4.5 12.5 8 9 11.5" />`,
  swap: svg`<path d="M3 5.5h9.5M9.5 2.5l3 3-3 3M13 10.5H3.5M6.5 7.5l-3 3 3 3" />`,
  copy: svg`<path d="M5.5 5.5V3a.5.5 0 0 1 .5-.5h7a.5.5 0 0 1 .5.5v7a.5.5 0 0 1-.5.5h-2.5" /><rect x="2.5" y="5.5" width="8" height="8" rx=".5" />`,
  open: svg`<path d="M6.5 3.5h-3v9h9v-3M9 2.5h4.5V7M13.5 2.5 7.5 8.5" />`,
} satisfies Record<string, SVGTemplateResult>;

export type Icon = keyof typeof SHAPES;

export function icon(name: Icon): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">${SHAPES[name]}</svg>`;
}
