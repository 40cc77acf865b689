/** The boxes of the aggregate view in words: a table that any column orders, and the way from the whole down to a box. */
import { html, nothing, type TemplateResult } from "lit";
import { brokenName } from "./breaks";
import type { AggregateBox, AggregateResult } from "../../shared/protocol";
import { type Column, idOf, openedAround, type Path } from "../model/aggregate";
import { duration, thousands } from "../model/format";
import { oneStop, rowKeys } from "./rows";
import { linkButton } from "./parts";

const COLUMNS: readonly { column: Column; name: string; title: string }[] = [
  { column: "label", name: "Box", title: "By name" },
  { column: "self", name: "Self", title: "Work of its own code, without recorded waits" },
  { column: "total", name: "Total", title: "Of its calls, without those made from within" },
  { column: "waiting", name: "Waiting", title: "What of the total was waited for" },
  { column: "calls", name: "Calls", title: "Calls that begin in it" },
  { column: "errors", name: "Errors", title: "Calls that ended by an exception" },
];

export interface Order {
  column: Column;
  reverse: boolean;
}

export interface TableActions {
  sort: (column: Column) => void;
  choose: (id: string) => void;
}

/** Boxes in their order. */
export function boxTable(
  rows: readonly AggregateBox[],
  { column: by, reverse }: Order,
  selected: string,
  act: TableActions,
): TemplateResult {
  const headers = COLUMNS.map(({ column, name, title }) => {
    const order = column !== by ? "none" : (column === "label") === reverse ? "descending" : "ascending";
    return html`<th scope="col" class=${column === "label" ? "" : "number"} aria-sort=${order}>
      <button
        type="button"
        class="quiet sort"
        title=${title}
        @click=${() => {
          act.sort(column);
        }}
      >
        ${name}${column === by ? html`<span aria-hidden="true">${reverse ? " ▴" : " ▾"}</span>` : nothing}
      </button>
    </th>`;
  });
  return html`<table class="box-rows">
    <thead>
      <tr>
        ${headers}
      </tr>
    </thead>
    <tbody ${oneStop()}>
      ${rows.map((box) => boxRow(box, selected, act))}
    </tbody>
  </table>`;
}

function boxRow(box: AggregateBox, selected: string, act: TableActions): TemplateResult {
  const id = idOf(box.path);
  const keys = rowKeys(() => {
    act.choose(id);
  });
  const ns = (value: number): string => (value > 0 ? duration(value) : "–");
  const number = (value: number): string => (value > 0 ? thousands(value) : "–");
  return html`<tr
    class=${id === selected ? "selected" : ""}
    tabindex="-1"
    aria-current=${id === selected ? "true" : "false"}
    @click=${keys.click}
    @keydown=${keys.keydown}
  >
    <th scope="row" title=${box.path.join(" › ")}>
      <span class="name">${brokenName(box.label)}</span>
      <small>${box.path.slice(1, -1).join(" › ") || box.level}</small>
    </th>
    ${[ns(box.selfNs), ns(box.totalNs), ns(box.waitingNs), number(box.calls), number(box.errors)].map(
      (text) => html`<td class="number">${text}</td>`,
    )}
  </tr>`;
}

export interface WayActions {
  closeAll: () => void;
  close: (path: Path) => void;
}

/** From the whole down to what is selected; a step closes what is opened in it. */
export function levelsWay(
  result: AggregateResult,
  opened: readonly Path[],
  selected: Path,
  act: WayActions,
): TemplateResult {
  const first = result.nesting.indexOf(result.level);
  return html`<nav class="levels-way" aria-label="Where the selected box is">
    <ol>
      <li>
        <button type="button" class="link" ?disabled=${opened.length === 0} title="Close all" @click=${act.closeAll}>
          ${result.title}
        </button>
      </li>
      ${selected.map((label, depth) => {
        const here = selected.slice(0, depth + 1);
        const closes = depth >= first && openedAround(opened, here) && depth < selected.length - 1;
        return html`<li>
          ${
            closes
              ? linkButton(
                  label,
                  () => {
                    act.close(here);
                  },
                  `Close ${label}`,
                )
              : html`<span>${label}</span>`
          }
        </li>`;
      })}
    </ol>
  </nav>`;
}
