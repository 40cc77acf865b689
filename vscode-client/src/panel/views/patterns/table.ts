/** The table of patterns: share of the time, occurrences over time, count and duration. */
import { html, svg, type TemplateResult } from "lit";
import type { Location } from "../../../shared/protocol";
import { count, thousands } from "../../ui/text/format";
import type { PatternView } from "./model";
import { clock, type Span } from "../../ui/timeSpan";
import { brokenName } from "../../ui/text/nameBreaks";
import { bar, linkButton } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";

export interface PatternActions {
  choose(id: string): void;
  reveal(location: Location | null): void;
  /** The timeline at an occurrence of the chosen one. */
  showTime(): void;
}

/** `chosen` is the id of a pattern. */
export function patternTable(
  rows: readonly PatternView[],
  chosen: string | undefined,
  act: PatternActions,
): TemplateResult {
  return html`<table class="diff-rows pattern-rows">
    <colgroup>
      <col class="name" />
      <col class="share" />
      <col class="when" />
      <col class="times" />
      <col class="mean" />
    </colgroup>
    <thead>
      <tr>
        <th scope="col">Pattern</th>
        <th scope="col" title="Share of the time of all threads and tasks; darker: work, lighter: waiting">
          Share of the time
        </th>
        <th scope="col">When</th>
        <th scope="col" class="number">Times</th>
        <th scope="col" class="number">Each</th>
      </tr>
    </thead>
    <tbody ${oneStop()}>
      ${rows.map((one) => patternRow(one, one.row.id === chosen, act))}
    </tbody>
  </table>`;
}

function patternRow(one: PatternView, isChosen: boolean, act: PatternActions): TemplateResult {
  const { row } = one;
  const keys = rowKeys(() => {
    act.choose(row.id);
  });
  // Once it is chosen, Enter leads to its code.
  const keydown = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && isChosen && event.target === event.currentTarget) act.reveal(row.location);
    else keys.keydown(event);
  };
  const said = `${one.title}: ${one.percent} of the time, ${one.count} times, ${one.mean} each`;
  return html`<tr
    class=${isChosen ? "selected" : ""}
    tabindex="-1"
    aria-current=${isChosen ? "true" : "false"}
    aria-label=${said}
    @click=${keys.click}
    @keydown=${keydown}
    @dblclick=${() => {
      act.showTime();
    }}
  >
    <th scope="row" title=${one.title}>
      <span class="name">${brokenName(one.title)}</span>
      <span class="where"
        >${[one.size, row.raised > 0 ? `${thousands(row.raised)} raise` : ""].filter(Boolean).join(" · ")}</span
      >
    </th>
    <td class="share">
      <span class="bar-line"
        ><svg aria-hidden="true">${bar("wait", one.share)}${bar("self", one.work)}</svg
        ><span>${one.percent}</span></span
      >
    </td>
    <td class="when">
      <svg aria-hidden="true">
        <rect class="track" width="100%" height="100%" rx="2" />
        ${one.spans.map(
          ({ start, length }) =>
            svg`<rect class="occurs" x="${100 * start}%" width="${100 * length}%" height="100%" />`,
        )}
      </svg>
    </td>
    <td class="number">${one.count}</td>
    <td class="number">${one.mean}</td>
  </tr>`;
}

/** What the table is of, where that is less than the run: `here` of `all` patterns. */
export function windowText(span: Span, all: number, here: number, showAll: () => void): TemplateResult {
  return html`<p class="window-said" role="status">
    From ${clock(span.from)} to ${clock(span.to)}: ${here} of ${count(all, "pattern")}; shares and times refer to this
    window. ${linkButton("Show the whole run", showAll)}
  </p>`;
}
