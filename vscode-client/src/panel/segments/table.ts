/** Draws the critical path as a list: segment by segment, over the time from start to end. */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { brokenName } from "../ui/text/nameBreaks";
import type { CriticalPathResult, Location, MissingEvents, PathSegment } from "../../shared/protocol";
import { count, duration, offset, shortLabel } from "../ui/text/format";
import { gapName, gapsAt, gapSpans } from "../ui/gaps";
import { filterSegments } from "./path";
import { shortProcesses, withMachines } from "../ui/text/processNames";
import { ROWS_FOUND, ROWS_OF_THEIR_OWN, type SegmentRow, segmentRows, withGaps } from "./rows";
import { gapSample } from "../ui/parts";
import { oneStop, rowKeys } from "../ui/rows";

export interface SegmentActions {
  selected: ReadonlySet<string>;
  /** Folded rows that are shown segment by segment, by their start. */
  opened: ReadonlySet<number>;
  /** What is searched for, "" for nothing: only such segments are listed. */
  search: string;
  select(segment: PathSegment): void;
  reveal(location: Location): void;
  open(row: SegmentRow): void;
}

export function segmentList(result: CriticalPathResult, actions: SegmentActions, wide: boolean): TemplateResult {
  const begin = Math.min(...result.segments.map((segment) => segment.startNs));
  const end = Math.max(...result.segments.map((segment) => segment.endNs));
  const span = Math.max(1, end - begin);
  const processes = withMachines(
    shortProcesses([...result.segments, ...result.gaps].map((one) => one.process)),
    result.processes,
  );
  const found = filterSegments(result.segments, actions.search);
  const most = wide ? ROWS_OF_THEIR_OWN : ROWS_OF_THEIR_OWN / 2;
  const rows = segmentRows(found, most, actions.opened, actions.search ? ROWS_FOUND : undefined);
  const longest = Math.max(1, ...rows.map((row) => row.selfNs + row.waitNs));
  return html`<table class="segments ${wide ? "wide" : ""}">
      <thead>
        <tr>
          <th scope="col">Segment</th>
          ${wide ? html`<th scope="col" class="timeline">${axis(span)}</th>` : nothing}
          <th scope="col" class="number" title="Self time: time spent working">Self</th>
          <th scope="col" class="number" title="Wait time: from the cause until this continued">Wait</th>
          <th
            scope="col"
            class="number"
            title="Slack: how much later the other branches could end without delaying this"
          >
            Slack
          </th>
        </tr>
      </thead>
      <tbody ${oneStop()}>
        ${withGaps(rows, actions.search ? [] : result.gaps).map(({ row, gap }) => {
          if (gap) return gapLine(gap, processes.get(gap.process) ?? gap.process, { begin, span, wide });
          const [segment] = row.segments;
          if (!segment) return nothing;
          const folded = row.segments.length > 1;
          const chosen = row.segments.some((one) => one.nodeId !== "" && actions.selected.has(one.nodeId));
          const heavy = !folded && row.selfNs + row.waitNs >= longest * 0.5;
          const inside = gapsAt(result.gaps, [...new Set(row.segments.flatMap((one) => one.gaps))]);
          const bar = timeBar(row, inside, { begin, span, wide });
          const clock = folded ? "" : segment.clock;
          const keys = rowKeys(() => {
            if (folded) {
              actions.open(row);
              return;
            }
            actions.select(segment);
            if (segment.location) actions.reveal(segment.location);
          });
          return html`<tr
            class="${chosen && !folded ? "selected" : ""} ${heavy ? "heavy" : ""} ${folded ? "folded" : ""}"
            tabindex="-1"
            aria-current=${chosen ? "true" : "false"}
            @click=${keys.click}
            @keydown=${keys.keydown}
          >
            ${
              folded
                ? html`<th scope="row" title="Show the segments one by one">
                    ${count(row.segments.length, "short segment")} …
                  </th>`
                : html`<th scope="row" title=${segment.label}>
                    <span class="name">${brokenName(shortLabel(segment.label))}</span>
                    <span class="where" title=${segment.process}>${processes.get(segment.process) ?? ""}</span>
                    ${segment.waitFor ? html`<span class="where" title=${segment.waitWhy}>waited: ${segment.waitFor}</span>` : nothing}
                    ${clock ? html`<span class="where clock" title=${clock}>${clock}</span>` : nothing}
                    ${wide ? nothing : html`<svg class="segment-bar" aria-hidden="true">${bar}</svg>`}
                  </th>`
            }
            ${wide ? html`<td class="timeline"><svg aria-hidden="true">${bar}</svg></td>` : nothing} ${figures(row)}
          </tr>`;
        })}
      </tbody>
    </table>
    ${found.length === 0 ? html`<p class="muted pad">No matches.</p>` : nothing}`;
}

/** A time that clocks make doubtful has a sign of it before it. */
function figures(row: SegmentRow): TemplateResult[] {
  const unsure = row.segments.some((segment) => segment.uncertain);
  return [row.selfNs, row.waitNs, row.slackNs].map((ns, column) => {
    const doubtful = unsure && column === 1 && ns > 0;
    const title = doubtful ? "The error of the clocks may exceed the time between the two machines" : "";
    return html`<td class="number ${doubtful ? "uncertain" : ""}" title=${title || nothing}>
      ${ns > 0 ? `${doubtful ? "≈ " : ""}${duration(ns)}` : "–"}
    </td>`;
  });
}

/** An interval without events, at its place in time. */
function gapLine(gap: MissingEvents, where: string, time: Time): TemplateResult {
  return html`<tr class="gap" tabindex="-1" aria-label=${gap.text} title=${gap.text}>
    <th scope="row">
      <span class="name">${gapSample()} ${gapName(gap)}</span>
      <span class="where">${[where, gap.strand].filter(Boolean).join(" · ")}</span>
      <span class="where why">${gap.why}</span>
      ${time.wide ? nothing : html`<svg class="segment-bar" aria-hidden="true">${gapBar([gap], time)}</svg>`}
    </th>
    ${time.wide ? html`<td class="timeline"><svg aria-hidden="true">${gapBar([gap], time)}</svg></td>` : nothing}
    <td class="number" colspan="3">
      ${duration(gap.toNs - gap.fromNs)} missing<small>from ${offset(gap.fromNs)}</small>
    </td>
  </tr>`;
}

/** The time that the list is drawn over. */
interface Time {
  begin: number;
  span: number;
  wide: boolean;
}

const SMALLEST_GAP = 0.008;

function gapBar(gaps: readonly MissingEvents[], { begin, span }: Time): SVGTemplateResult {
  return svg`
    <rect class="track" width="100%" height="100%" rx="2" />
    ${drawGaps(gaps, { begin, span })}
  `;
}

function drawGaps(gaps: readonly MissingEvents[], { begin, span }: Pick<Time, "begin" | "span">): SVGTemplateResult[] {
  return gapSpans(gaps, begin, begin + span, SMALLEST_GAP).map(
    ({ start, length }) => svg`<rect class="gap" x="${100 * start}%" width="${100 * length}%" height="100%" />`,
  );
}

/** Waiting (dashed) comes before working (full), as it does in time; where events are missing, that is drawn over both. */
function timeBar(row: SegmentRow, gaps: readonly MissingEvents[], { begin, span }: Time): SVGTemplateResult {
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
    ${drawGaps(
      gaps
        .filter((gap) => gap.fromNs < row.endNs && gap.toNs > row.startNs)
        .map((gap) => ({
          ...gap,
          fromNs: Math.max(gap.fromNs, row.startNs),
          toNs: Math.min(gap.toNs, row.endNs),
        })),
      { begin, span },
    )}
  `;
}

function axis(span: number): TemplateResult {
  return html`<span class="axis"><span>0</span><span>${duration(span / 2)}</span><span>${duration(span)}</span></span>`;
}

export function segmentLegend(result: CriticalPathResult): TemplateResult {
  const sample = (kind: string): TemplateResult =>
    html`<svg class="sample bar" aria-hidden="true"><rect class=${kind} width="100%" height="100%" rx="2" /></svg>`;
  const missing = result.gaps.length > 0;
  return html`<p class="segment-legend">
    <span class="pair">${sample("self")} working</span>
    <span class="pair">${sample("wait")} waiting to start</span>
    ${missing ? html`<span class="pair">${gapSample()} events are missing: the activity is unknown</span>` : nothing}
    ${result.hiddenGaps > 0 ? html`<span>(and ${count(result.hiddenGaps, "more gap")}, shorter)</span>` : nothing}
  </p>`;
}
