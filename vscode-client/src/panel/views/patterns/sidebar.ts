/** The side panel of patterns: the calls of the selected pattern, and its preceding and following patterns. */
import { html, nothing, type TemplateResult } from "lit";
import type { Location, PatternLine, PatternRow, PatternsResult } from "../../../shared/protocol";
import { count, duration, thousands } from "../../ui/text/format";
import { type Neighbour, neighbours, outlineLine } from "./model";
import { percent } from "../../ui/text/format";
import { linkButton, placeLink } from "../../ui/parts";

/** Patterns that are named as what follows, before the rest is counted. */
const NAMED = 5;
/** Of a level deeper in the outline, in px. */
const INDENT = 14;

export interface PatternActions {
  choose(id: string): void;
  reveal(location: Location): void;
  showTime(): void;
}

export function patternSide(
  result: PatternsResult,
  row: PatternRow,
  workspace: string,
  act: PatternActions,
): TemplateResult {
  return html`<aside class="side">
    <div class="reading">
      <section>
        <h3>${row.title}</h3>
        <p class="numbers">
          ${count(row.count, "time")}, ${duration(row.totalNs)} in all (${percent(row.share)}), including
          ${duration(row.selfNs)} work; in
          ${row.strands === 1 ? "one thread or task" : `${thousands(row.strands)} threads and tasks`}
        </p>
        <p>
          ${linkButton("Show on the timeline", () => {
            act.showTime();
          })}
        </p>
        <ol class="outline" aria-label="Calls of the pattern">
          ${row.outline.map((line) => outlineItem(line, workspace, act))}
          ${row.hiddenLines ? html`<li class="muted">and more</li>` : nothing}
        </ol>
      </section>
      ${neighbourList("Followed by", neighbours(result, row.id, "after"), act)}
      ${neighbourList("Preceded by", neighbours(result, row.id, "before"), act)}
    </div>
  </aside>`;
}

function outlineItem(line: PatternLine, workspace: string, act: PatternActions): TemplateResult {
  const { name, note } = outlineLine(line);
  // No inline styles: the content policy forbids them, not so what a script sets.
  return html`<li .style=${`padding-left: ${line.depth * INDENT}px`} title=${line.label}>
    <b>${name}</b> <small>${note}</small>
    ${placeLink(line.location, workspace, (location) => {
      act.reveal(location);
    })}
  </li>`;
}

function neighbourList(
  title: string,
  found: readonly Neighbour[],
  act: PatternActions,
): TemplateResult | typeof nothing {
  if (found.length === 0) return nothing;
  return html`<section>
    <h3>${title}</h3>
    <ul class="facts">
      ${found.slice(0, NAMED).map(
        (one) =>
          html`<li>
            ${linkButton(one.title, () => {
              act.choose(one.id);
            })}
            <small>${thousands(one.count)}×, ${percent(one.share)}</small>
          </li>`,
      )}
      ${found.length > NAMED ? html`<li class="muted">and ${count(found.length - NAMED, "other")}</li>` : nothing}
    </ul>
  </section>`;
}
