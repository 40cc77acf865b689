/** The nodes as a table that can be sorted by any column, and the path of containers to a node. */
import { html, nothing, type TemplateResult } from "lit";
import { brokenName } from "../../ui/text/nameBreaks";
import type { AggregateBox, AggregateResult } from "../../../shared/protocol";
import { type Column, idOf, openedAround, type Path } from "./model";
import { duration, thousands } from "../../ui/text/format";
import { oneStop, rowKeys } from "../../ui/rows";
import { linkButton } from "../../ui/parts";

const COLUMNS: readonly { column: Column; name: string; title: string }[] = [
  { column: "label", name: "Node", title: "By name" },
  { column: "self", name: "Self", title: "Time in its own code, without recorded waits" },
  { column: "total", name: "Total", title: "Duration of its calls, without calls made from inside it" },
  { column: "waiting", name: "Waiting", title: "Part of the total spent waiting" },
  { column: "calls", name: "Calls", title: "Calls that start in it" },
  { column: "errors", name: "Errors", title: "Calls that raised an exception" },
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
export function nodeTable(
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
      ${rows.map((node) => nodeRow(node, selected, act))}
    </tbody>
  </table>`;
}

function nodeRow(node: AggregateBox, selected: string, act: TableActions): TemplateResult {
  const id = idOf(node.path);
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
    <th scope="row" title=${node.path.join(" › ")}>
      <span class="name">${brokenName(node.label)}</span>
      <small>${node.path.slice(1, -1).join(" › ") || node.level}</small>
    </th>
    ${[ns(node.selfNs), ns(node.totalNs), ns(node.waitingNs), number(node.calls), number(node.errors)].map(
      (text) => html`<td class="number">${text}</td>`,
    )}
  </tr>`;
}

export interface BreadcrumbActions {
  closeAll: () => void;
  close: (path: Path) => void;
}

/** From the whole down to what is selected; a step closes what is opened in it. */
export function breadcrumb(
  result: AggregateResult,
  opened: readonly Path[],
  selected: Path,
  act: BreadcrumbActions,
): TemplateResult {
  const first = result.nesting.indexOf(result.level);
  return html`<nav class="levels-way" aria-label="Containers of the selected node">
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
