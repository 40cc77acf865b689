/** The critical path as a list: where the time went, segment by segment, over the time from its start to its end. */
import { html, nothing, svg, type TemplateResult } from "lit";
import type { CriticalPathResult, Location, PathSegment } from "../../shared/protocol";
import { duration, shortLabel } from "../model/format";

export interface SegmentActions {
  selected: ReadonlySet<string>;
  select(segment: PathSegment): void;
  reveal(location: Location): void;
}

export function segmentList(result: CriticalPathResult, actions: SegmentActions, wide: boolean): TemplateResult {
  const begin = Math.min(...result.segments.map((segment) => segment.startNs));
  const end = Math.max(...result.segments.map((segment) => segment.endNs));
  const span = Math.max(1, end - begin);
  const longest = Math.max(1, ...result.segments.map((segment) => segment.selfNs + segment.waitNs));
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
      ${result.segments.map((segment) => {
        const chosen = segment.nodeId !== "" && actions.selected.has(segment.nodeId);
        const heavy = segment.selfNs + segment.waitNs >= longest * 0.5;
        return html`<tr
          class="${chosen ? "selected" : ""} ${heavy ? "heavy" : ""}"
          tabindex="0"
          aria-selected=${chosen ? "true" : "false"}
          @click=${() => {
            actions.select(segment);
            if (segment.location) actions.reveal(segment.location);
          }}
          @keydown=${(event: KeyboardEvent) => {
            if (event.key !== "Enter") return;
            actions.select(segment);
            if (segment.location) actions.reveal(segment.location);
          }}
        >
          <th scope="row" title=${segment.label}>
            <span class="name">${shortLabel(segment.label)}</span>
            <span class="where">${segment.process}</span>
            ${wide ? nothing : html`<svg class="segment-bar" aria-hidden="true">${timeBar(segment, begin, span)}</svg>`}
          </th>
          ${
            wide
              ? html`<td class="timeline"><svg aria-hidden="true">${timeBar(segment, begin, span)}</svg></td>`
              : nothing
          }
          <td class="number">${segment.selfNs > 0 ? duration(segment.selfNs) : "–"}</td>
          <td class="number">${segment.waitNs > 0 ? duration(segment.waitNs) : "–"}</td>
          <td class="number">${segment.slackNs > 0 ? duration(segment.slackNs) : "–"}</td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}

/** Waiting (hatched) comes before working (full), as it does in time. */
function timeBar(segment: PathSegment, begin: number, span: number): TemplateResult {
  const percent = (ns: number): number => (100 * ns) / span;
  const start = percent(segment.startNs - begin);
  const whole = Math.max(percent(segment.endNs - segment.startNs), 0.4);
  const both = segment.selfNs + segment.waitNs;
  const waited = both > 0 ? (whole * segment.waitNs) / both : 0;
  return html`${svg`
    <rect class="track" width="100%" height="100%" rx="2" />
    <rect class="wait" x="${start}%" width="${waited}%" height="100%" rx="2" />
    <rect class="self" x="${start + waited}%" width="${Math.max(whole - waited, segment.selfNs > 0 ? 0.4 : 0)}%" height="100%" rx="2" />
  `}`;
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
