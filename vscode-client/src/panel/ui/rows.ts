/**
 * Rows of a table with keyboard support: arrow keys, Home and End move, Enter or a click selects.
 *
 * Invariant: a table is one Tab stop regardless of its length: the last focused row, else the selected one, else the first, with its
 * buttons. Each row has its index and the number of rows.
 */
import { noChange } from "lit";
import { directive, Directive, type ElementPart, type PartInfo, PartType } from "lit/directive.js";
import { rowStep } from "../graph/navigation";

export interface RowKeys {
  click: () => void;
  keydown: (event: KeyboardEvent) => void;
}

export function rowKeys(choose: () => void): RowKeys {
  return {
    click: choose,
    keydown: (event: KeyboardEvent): void => {
      if (event.target !== event.currentTarget || event.key !== "Enter") return;
      choose();
      event.preventDefault();
    },
  };
}

class OneStop extends Directive {
  private body: HTMLTableSectionElement | undefined;

  constructor(part: PartInfo) {
    super(part);
    if (part.type !== PartType.ELEMENT) throw new Error("rows are those of a <tbody>");
  }

  override render(): unknown {
    return noChange;
  }

  override update(part: ElementPart): unknown {
    if (!this.body && part.element instanceof HTMLTableSectionElement) {
      this.body = part.element;
      part.element.addEventListener("focusin", follow);
      part.element.addEventListener("keydown", step);
    }
    // The rows are drawn after this.
    queueMicrotask(() => {
      if (this.body) settle(this.body);
    });
    return noChange;
  }
}

/** `<tbody ${oneStop()}>`: its rows, which are drawn with `tabindex="-1"`, are one stop of Tab. */
export const oneStop = directive(OneStop);

function follow(event: FocusEvent): void {
  const row = event.target instanceof Element ? event.target.closest("tr") : null;
  if (row) settle(event.currentTarget as HTMLTableSectionElement, row);
}

function step(event: KeyboardEvent): void {
  const { rows } = event.currentTarget as HTMLTableSectionElement;
  const at = [...rows].findIndex((row) => row === event.target);
  const to = at < 0 ? undefined : rowStep(event.key, at, rows.length);
  if (to === undefined) return;
  rows[to]?.focus();
  event.preventDefault();
}

function settle(body: HTMLTableSectionElement, focused?: HTMLTableRowElement): void {
  const rows = [...body.rows];
  const stop =
    focused ??
    rows.find((row) => row.tabIndex === 0) ??
    rows.find((row) => row.getAttribute("aria-current") === "true") ??
    rows[0];
  const head = body.closest("table")?.tHead?.rows.length ?? 0;
  body.closest("table")?.setAttribute("aria-rowcount", String(rows.length + head));
  rows.forEach((row, place) => {
    row.setAttribute("aria-rowindex", String(place + head + 1));
    const index = row === stop ? 0 : -1;
    if (row.tabIndex !== index) row.tabIndex = index;
    for (const part of row.querySelectorAll<HTMLElement>("button, a[href]")) part.tabIndex = index;
  });
}
