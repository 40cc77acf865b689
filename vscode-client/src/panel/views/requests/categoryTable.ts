/** The table of compared categories of requests: count, duration and change. */
import { html, nothing, type TemplateResult } from "lit";
import type { CompareRow } from "../../../shared/protocol";
import { type CategoryLine, categoryLines, landmark } from "./model";
import { bar } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";

export function drawCategories(
  rows: readonly CompareRow[],
  chosen: string,
  choose: (category: string) => void,
): TemplateResult {
  return html`<table class="diff-rows compare-rows">
    <colgroup>
      <col class="name" />
      <col class="calls" />
      <col class="bars" />
      <col class="change" />
    </colgroup>
    <thead>
      <tr>
        <th scope="col">Requests of one flow</th>
        <th scope="col" class="number">Count</th>
        <th scope="col" class="bars" title="Above before, below after">Median time</th>
        <th scope="col" class="number" title="Causes by their total change over all requests, slowdowns first">
          Change
        </th>
      </tr>
    </thead>
    <tbody ${oneStop()}>
      ${categoryLines(rows).map((line) => drawRow(line, chosen, choose))}
    </tbody>
  </table>`;
}

function drawRow(line: CategoryLine, chosen: string, choose: (category: string) => void): TemplateResult {
  const { row } = line;
  const isChosen = row.category === chosen;
  const keys = rowKeys(() => {
    choose(row.category);
  });
  const mark = { slower: "▲", faster: "▼", new: "+", "more often": "+", "": "" }[line.word];
  return html`<tr
    class="${row.kind === "" ? "unchanged" : row.kind === "structural" ? "after" : line.word} ${isChosen ? "selected" : ""}"
    tabindex="-1"
    aria-current=${isChosen ? "true" : "false"}
    aria-label=${row.sentence}
    title=${row.sentence}
    @click=${keys.click}
    @keydown=${keys.keydown}
  >
    <th scope="row">
      <span class="name"><span class="mark" aria-hidden="true">${mark}</span>${row.name}</span>
      <span class="where"
        >${[line.word, landmark(row), row.cause ? "same cause" : ""].filter(Boolean).join(" · ")}</span
      >
    </th>
    <td class="number">${line.counts}</td>
    <td class="bars">
      <span class="bar-line"
        ><svg aria-hidden="true">${bar("before", line.before)}</svg><span>${line.medianBefore}</span></span
      >
      <span class="bar-line"
        ><svg aria-hidden="true">${bar("after", line.after)}</svg><span>${line.medianAfter}</span></span
      >
    </td>
    <td class="number change">
      <span class="whole">${line.change}</span> ${line.factor ? html`<small>${line.factor}</small>` : nothing}
      ${line.sure ? html`<small>${line.sure}</small>` : nothing}
    </td>
  </tr>`;
}
