/** The critical path as a list: where the time went, segment by segment, over the time from its start to its end. */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import type { CriticalPathResult, Location, PathSegment } from "../../shared/protocol";
import { count, duration, shortLabel } from "../model/format";
import { shortProcesses } from "../model/processes";
import { ROWS_OF_THEIR_OWN, type SegmentRow, segmentRows } from "../model/segments";

export interface SegmentActions {
  selected: ReadonlySet<string>;
  /** Folded rows that are shown segment by segment, by their start. */
  opened: ReadonlySet<number>;
  select(segment: PathSegment): void;
  reveal(location: Location): void;
  open(row: SegmentRow): void;
}

export function segmentList(result: CriticalPathResult, actions: SegmentActions, wide: boolean): TemplateResult {
  const begin = Math.min(...result.segments.map((segment) => segment.startNs));
  const end = Math.max(...result.segments.map((segment) => segment.endNs));
  const span = Math.max(1, end - begin);
  const processes = shortProcesses(result.segments.map((segment) => segment.process));
  const rows = segmentRows(result.segments, wide ? ROWS_OF_THEIR_OWN : ROWS_OF_THEIR_OWN / 2, actions.opened);
  const longest = Math.max(1, ...rows.map((row) => row.selfNs + row.waitNs));
  return html`<table class="segments ${wide ? "wide" : ""}">
    <thead>
      <tr>
        <th scope="col">Segment</th>
        ${wide ? html`<th scope="col" class="timeline">${axis(span)}</th>` : nothing}
        <th scope="col" class="number" title="Time spent working">Self</th>
        <th scope="col" class="number" title="Time from the cause until this went on">Wait</th>
        <th scope="col" class="number" title="How much later the other branches could end without delaying this">
          Slack
        </th>
      </tr>
    </thead>
    <tbody>
      ${rows.map((row) => {
        const [segment] = row.segments;
        if (!segment) return nothing;
        const folded = row.segments.length > 1;
        const chosen = row.segments.some((one) => one.nodeId !== "" && actions.selected.has(one.nodeId));
        const heavy = !folded && row.selfNs + row.waitNs >= longest * 0.5;
        const act = (): void => {
          if (folded) {
            actions.open(row);
            return;
          }
          actions.select(segment);
          if (segment.location) actions.reveal(segment.location);
        };
        return html`<tr
          class="${chosen && !folded ? "selected" : ""} ${heavy ? "heavy" : ""} ${folded ? "folded" : ""}"
          tabindex="0"
          aria-current=${chosen ? "true" : "false"}
          @click=${act}
          @keydown=${(event: KeyboardEvent) => {
            if (event.key === "Enter") act();
          }}
        >
          ${
            folded
              ? html`<th scope="row" title="Show them one by one">${count(row.segments.length, "short segment")} …</th>`
              : html`<th scope="row" title=${segment.label}>
                  <span class="name">${shortLabel(segment.label)}</span>
                  <span class="where" title=${segment.process}>${processes.get(segment.process) ?? ""}</span>
                  ${wide ? nothing : html`<svg class="segment-bar" aria-hidden="true">${timeBar(row, begin, span)}</svg>`}
                </th>`
          }
          ${wide ? html`<td class="timeline"><svg aria-hidden="true">${timeBar(row, begin, span)}</svg></td>` : nothing}
          ${[row.selfNs, row.waitNs, row.slackNs].map(
            (ns) => html`<td class="number">${ns > 0 ? duration(ns) : "–"}</td>`,
          )}
        </tr>`;
      })}
    </tbody>
  </table>`;
}

/** Waiting (hatched) comes before working (full), as it does in time. */
function timeBar(row: SegmentRow, begin: number, span: number): SVGTemplateResult {
  const percent = (ns: number): number => (100 * ns) / span;
  const whole = Math.max(percent(row.endNs - row.startNs), 0.4);
  const start = Math.min(percent(row.startNs - begin), 100 - whole);
  const both = row.selfNs + row.waitNs;
  const waited = both > 0 ? (whole * row.waitNs) / both : 0;
  const worked = Math.max(whole - waited, row.selfNs > 0 ? 0.4 : 0);
  return svg`
    <rect class="track" width="100%" height="100%" rx="2" />
    ${waited > 0 ? svg`<rect class="wait" x="${start}%" width="${waited}%" height="100%" rx="2" />` : nothing}
    <rect class="self" x="${start + waited}%" width="${worked}%" height="100%" rx="2" />
  `;
}

function axis(span: number): TemplateResult {
  return html`<span class="axis"><span>0</span><span>${duration(span / 2)}</span><span>${duration(span)}</span></span>`;
}

export function segmentLegend(): TemplateResult {
  return html`<p class="segment-legend">
    <svg class="sample bar" aria-hidden="true"><rect class="self" width="100%" height="100%" rx="2" /></svg> working
    <svg class="sample bar" aria-hidden="true"><rect class="wait" width="100%" height="100%" rx="2" /></svg> waiting for
    it to start
  </p>`;
}
