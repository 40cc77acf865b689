/** Tables of the critical path: by label, parallel work with its slack, and near-critical branches. */
import { html, nothing, type TemplateResult } from "lit";
import { brokenName } from "../../ui/text/nameBreaks";
import type { CriticalPathResult, Location, PathBranch } from "../../../shared/protocol";
import { count, duration, shortLabel } from "../../ui/text/format";
import { filterGroups, type PathGroup, pathGroups } from "../../segments/path";
import { bar } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";

export interface TableActions {
  selected: ReadonlySet<string>;
  /** What is searched for, "" for nothing. */
  search: string;
  select(label: string, location: Location | null): void;
  /** What led to an event. */
  why(event: number): void;
}

const WAITS_NAMED = 2;

/** The labels of the path, each once. */
export function byLabel(result: CriticalPathResult, act: TableActions): TemplateResult {
  const groups = filterGroups(pathGroups(result, false), act.search);
  return html`<table class="segments path-groups">
      <thead>
        <tr>
          <th scope="col">Label</th>
          <th scope="col">Share of the path</th>
          <th scope="col" class="number">Segments</th>
          <th scope="col" class="number" title="Self time: time spent working">Self</th>
          <th scope="col" class="number" title="Wait time: from the cause until this continued">Wait</th>
        </tr>
      </thead>
      ${body(
        groups,
        act,
        (group) =>
          html`<td class="share">
              <span class="bar-line"
                ><svg aria-hidden="true">${bar("self", group.share)}</svg
                ><span>${Math.round(100 * group.share)} %</span></span
              >
            </td>
            <td class="number">${group.count}</td>
            ${time(group.selfNs)} ${time(group.waitNs)}`,
      )}
    </table>
    ${groups.length === 0 ? html`<p class="pad muted">No matches.</p>` : nothing}`;
}

export function besidePath(result: CriticalPathResult, act: TableActions): TemplateResult {
  const groups = filterGroups(pathGroups(result, true), act.search);
  return html`
    ${
      groups.length === 0 && act.search
        ? html`<p class="pad muted">No matches.</p>`
        : groups.length === 0
          ? html`<p class="pad muted">All work until the end is on the path.</p>`
          : html`<table class="segments path-groups">
              <thead>
                <tr>
                  <th scope="col">Parallel to the path</th>
                  <th scope="col" class="number" title="Self time until the path's end">Work</th>
                  <th scope="col" class="number" title="Slack: how much longer it could take without delaying the end">
                    Slack
                  </th>
                </tr>
              </thead>
              ${body(
                groups,
                act,
                (group) =>
                  html`${time(group.workNs)}
                    <td class="number">
                      ${group.slackNs === null ? html`<span title="The path does not wait for it">not waited for</span>` : group.slackNs > 0 ? duration(group.slackNs) : "none"}
                    </td>`,
              )}
            </table>`
    }
    ${result.hiddenBeside > 0 ? html`<p class="pad muted">And ${count(result.hiddenBeside, "more label")} with more slack.</p>` : nothing}
    ${result.branches.length > 0 ? branches(result, act) : nothing}
  `;
}

function branches(result: CriticalPathResult, act: TableActions): TemplateResult {
  return html`<table class="segments path-groups">
      <thead>
        <tr>
          <th scope="col">Near-critical branches</th>
          <th scope="col" class="number" title="End time, from the start of the path">Ended at</th>
          <th scope="col" class="number" title="Slack: how much later it could have ended without delaying the path">
            Slack
          </th>
        </tr>
      </thead>
      <tbody ${oneStop()}>
        ${result.branches.map((branch) => branchRow(branch, result, act))}
      </tbody>
    </table>
    ${result.hiddenBranches > 0 ? html`<p class="pad muted">And ${count(result.hiddenBranches, "more branch")} with more slack.</p>` : nothing}`;
}

function branchRow(branch: PathBranch, result: CriticalPathResult, act: TableActions): TemplateResult {
  const begin = result.segments[0]?.startNs ?? 0;
  const keys = rowKeys(() => {
    act.why(branch.event);
  });
  return html`<tr tabindex="-1" title="Show its causes" @click=${keys.click} @keydown=${keys.keydown}>
    <th scope="row"><span class="name">${brokenName(shortLabel(branch.label))}</span></th>
    ${time(branch.endNs - begin)}
    <td class="number">${branch.slackNs > 0 ? duration(branch.slackNs) : "none"}</td>
  </tr>`;
}

/** `cells` are those after the name. */
function body(
  groups: readonly PathGroup[],
  act: TableActions,
  cells: (group: PathGroup) => TemplateResult,
): TemplateResult {
  return html`<tbody ${oneStop()}>
    ${groups.map((group) => row(group, act, cells(group)))}
  </tbody>`;
}

function row(group: PathGroup, act: TableActions, cells: TemplateResult): TemplateResult {
  const chosen = act.selected.has(group.label);
  const keys = rowKeys(() => {
    act.select(group.label, group.location);
  });
  const waits = group.waits.slice(0, WAITS_NAMED).map(({ word, ns }) => `${word} ${duration(ns)}`);
  return html`<tr
    class=${chosen ? "selected" : ""}
    tabindex="-1"
    aria-current=${chosen ? "true" : "false"}
    @click=${keys.click}
    @keydown=${keys.keydown}
  >
    <th scope="row" title=${group.label}>
      <span class="name">${brokenName(shortLabel(group.label))}</span>
      ${waits.length > 0 ? html`<span class="where">waiting: ${waits.join(", ")}</span>` : nothing}
    </th>
    ${cells}
  </tr>`;
}

function time(ns: number): TemplateResult {
  return html`<td class="number">${ns > 0 ? duration(ns) : "–"}</td>`;
}
