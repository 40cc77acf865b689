/** Small page elements that several views draw. */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { brokenPath } from "./text/nameBreaks";
import type { Location } from "../../shared/protocol";
import { libraryPlace, place, withCode } from "./text/format";
import type { PanelGraph } from "../graph/model";
import { icon } from "./icons";
import { processColours } from "./processColours";

export const RECORD_COMMAND = "clew run -- python your_program.py";

/** What there is to read where there is nothing to draw. */
export function emptyState(title: string, message: string, command?: string): TemplateResult {
  return html`<div class="empty">
    <svg class="clew-mark" viewBox="0 0 64 64" aria-hidden="true">
      <circle cx="32" cy="30" r="18" />
      <path d="M16 24c10-6 24-6 32 3M15 33c10-7 26-6 33 1M22 15c-5 10-4 22 3 31M35 12c8 8 10 22 3 35" />
      <path d="M45 43c5 6 10 6 14 3" />
    </svg>
    <h2>${title}</h2>
    <p>${sentence(message)}</p>
    ${command ? commandLine(command) : nothing}
  </div>`;
}

/** In place of a view of one run, where there is none. */
export function noRun(): TemplateResult {
  return emptyState("No run yet", "Record your program in a terminal:", RECORD_COMMAND);
}

/** What the server or a view says, with commands in it as code. */
export function sentence(text: string): unknown[] {
  return withCode(text).map((piece, number) => (number % 2 === 1 ? html`<code>${piece}</code>` : piece));
}

export function loading(words: string): TemplateResult {
  return html`<p class="asking" role="status">${words}</p>`;
}

export function commandLine(command: string): TemplateResult {
  return html`<div class="command">
    <code>${command}</code>
    <button
      type="button"
      class="quiet"
      title="Copy"
      aria-label="Copy the command"
      @click=${() => void navigator.clipboard.writeText(command)}
    >
      ${icon("copy")}
    </button>
  </div>`;
}

export function notice(
  kind: "error" | "info",
  text: string,
  action?: { name: string; run: () => void },
): TemplateResult {
  return html`<div class="notice ${kind}" role=${kind === "error" ? "alert" : "status"}>
    <span>${sentence(text)}</span>
    ${action ? linkButton(action.name, action.run) : nothing}
  </div>`;
}

/** A button that looks like a link, for use in sentences. */
export function linkButton(words: string, run: () => void, title?: string): TemplateResult {
  return html`<button type="button" class="link" title=${title ?? nothing} @click=${run}>${words}</button>`;
}

/** A place in source that can be gone to. */
export function placeLink(
  location: Location | null,
  workspace: string,
  reveal: (location: Location) => void,
): TemplateResult | typeof nothing {
  if (!location) return nothing;
  return html`<button
    type="button"
    class=${libraryPlace(location.path) ? "link place library" : "link place"}
    title=${`${location.path}:${location.line}`}
    @click=${(event: Event) => {
      event.stopPropagation();
      reveal(location);
    }}
  >
    ${brokenPath(place(location.path, location.line, workspace))}
  </button>`;
}

/** How edges and nodes are drawn and what that means. */
export function sliceLegend(graph: PanelGraph, showPath: boolean): TemplateResult {
  const kinds = new Set(graph.edges.map((edge) => edge.kind));
  const colours = processColours([...graph.processes.keys()]);
  const rows: [string, string, boolean][] = [
    ["edge call", "calls", kinds.has("call")],
    ["edge use", "causes (message, task, queue …)", kinds.has("use")],
    ["edge state", "last change of a state → its use", kinds.has("state")],
    ["edge sync", "releases (lock, condition …)", kinds.has("sync")],
    ["edge next", "continues as", kinds.has("next")],
    ["edge use chain", "the causal chain, numbered", graph.nodes.some((node) => node.onChain)],
    ["edge use path", "the critical path", showPath],
    ["edge use uncertain", "clock error exceeds its duration", graph.edges.some((edge) => edge.uncertain)],
  ];
  const missing = [...graph.nodes, ...graph.edges].some((one) => one.gaps.length > 0);
  return html`<details class="legend">
    <summary>Legend</summary>
    <ul>
      ${rows.filter(([, , shown]) => shown).map(([classes, text]) => html`<li>${edgeSample(classes)} ${text}</li>`)}
      ${missing ? html`<li>${gapSample()} events are missing</li>` : nothing}
    </ul>
    <ul class="processes" aria-label="Processes">
      ${[...graph.processes].map(
        ([process, short]) =>
          html`<li title=${process}>
            <svg class="swatch" viewBox="0 0 12 12" aria-hidden="true">
              <rect class="stripe p${colours.get(process) ?? "none"}" width="12" height="12" rx="3" />
            </svg>
            ${short}
          </li>`,
      )}
    </ul>
  </details>`;
}

export function diffLegend(): TemplateResult {
  return html`<details class="legend">
    <summary>Legend</summary>
    <ul>
      <li>${nodeSample("before")} − only before</li>
      <li>${nodeSample("after")} + only after</li>
      <li>${nodeSample("both")} in both: ▲ slower, ▼ faster</li>
    </ul>
  </details>`;
}

/** As a gap is drawn. */
export function gapSample(): TemplateResult {
  return html`<svg class="sample bar" aria-hidden="true"><rect class="gap" width="100%" height="100%" rx="2" /></svg>`;
}

function edgeSample(classes: string): TemplateResult {
  const onPath = classes.endsWith("path");
  return html`<svg class="sample" viewBox="0 0 34 10" aria-hidden="true">
    <g class=${classes}>
      ${onPath ? svg`<path class="halo" d="M1 5H33" />` : nothing}
      <path class="line" d="M1 5H33" />
    </g>
  </svg>`;
}

function nodeSample(status: string): TemplateResult {
  return html`<svg class="sample" viewBox="0 0 34 14" aria-hidden="true">
    <g class="node ${status}"><rect class="box" x="5" y="1" width="24" height="12" rx="3" /></g>
  </svg>`;
}

/** A bar whose length is `share` (0 to 1) of its room. */
export function bar(classes: string, share: number): SVGTemplateResult {
  const percent = Math.max(0, Math.min(1, share)) * 100;
  return svg`<rect class=${classes} width="${percent < 0.7 && share > 0 ? 0.7 : percent}%" height="100%" rx="2" />`;
}
