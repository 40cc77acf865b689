/** Details of one category of requests: the calls that changed, and possible origins. */
import { html, nothing, type TemplateResult } from "lit";
import type { CompareGraph, CompareRow, Location } from "../../../shared/protocol";
import { slowerCalls, type SlowerCall } from "./model";
import { arrows, count, duration, shortLabel, thousands } from "../../ui/text/format";
import { probability } from "../../ui/text/probability";
import { notice, placeLink } from "../../ui/parts";

/** Calls that are named before the rest is counted. */
const NAMED_CALLS = 4;

export interface CategoryContext {
  /** Shows its flow next to the flow of another category. */
  beside: (category: string) => void;
  reveal: (location: Location) => void;
  /** What there is to read of its flows. */
  words: TemplateResult;
}

/** Details of the selected category: slower calls, possible origins, and the features of its requests. */
export function drawCategory(
  graph: CompareGraph,
  rows: readonly CompareRow[],
  workspace: string,
  around: CategoryContext,
): TemplateResult {
  const calls = slowerCalls(rows.flatMap((row) => row.calls));
  const hiddenCalls = rows.reduce((sum, row) => sum + row.hiddenCalls, 0);
  const precursors = rows.flatMap((row) => row.precursors);
  const differences = rows.flatMap((row) => row.differences);
  const hiddenDifferences = rows.reduce((sum, row) => sum + row.hiddenDifferences, 0);
  const hiddenPrecursors = rows.reduce((sum, row) => sum + row.hiddenPrecursors, 0);
  const morePrecursors = Math.max(0, precursors.length - NAMED_CALLS) + hiddenPrecursors;
  return html`<section class="category" aria-label="Selected requests">
    <h2>${graph.title}</h2>
    <p class="numbers">${arrows(graph.sentence)}</p>
    ${
      calls.length > 0
        ? html`<ul class="facts" aria-label="Changed calls">
            ${calls.slice(0, NAMED_CALLS).map((call) => drawCall(call, workspace, around.reveal))}
            ${
              calls.length > NAMED_CALLS
                ? html`<li class="muted">and ${count(calls.length - NAMED_CALLS, "more function")}</li>`
                : nothing
            }
            ${hiddenCalls > 0 ? html`<li class="muted">and ${count(hiddenCalls, "call")} with a smaller change</li>` : nothing}
          </ul>`
        : nothing
    }
    ${
      precursors.length > 0
        ? html`<p class="numbers">
            Possible origin
            ${precursors.slice(0, NAMED_CALLS).map(
              (one) =>
                html`<button
                  type="button"
                  class="link"
                  aria-pressed=${one.category === graph.other ? "true" : "false"}
                  title=${one.sentence}
                  @click=${() => {
                    around.beside(one.category);
                  }}
                >
                  one that had ${thousands(one.countBefore)}, now ${thousands(one.countAfter)}
                  (${Math.round(100 * one.likeness)} % similar)
                </button> `,
            )}
            ${morePrecursors > 0 ? html`or ${count(morePrecursors, "less likely one")}` : nothing}
          </p>`
        : nothing
    }
    ${differences.map((one) => html`<p class="numbers">${arrows(one.sentence)}</p>`)}
    ${hiddenDifferences > 0 ? html`<p class="muted">and ${count(hiddenDifferences, "difference")} that explain less</p>` : nothing}
    ${
      graph.hiddenNodes > 0
        ? notice("info", `${count(graph.hiddenNodes, "more call")} without a change are not drawn.`)
        : nothing
    }
    ${around.words}
  </section>`;
}

function drawCall(call: SlowerCall, workspace: string, reveal: (location: Location) => void): TemplateResult {
  const by = call.channel ? ` (by ${call.channel})` : "";
  return html`<li>
    <b>${shortLabel(call.label)}</b>${by}${call.calls > 1 ? `, ${call.calls} calls` : ""}: itself
    <span class="whole">${duration(call.ownBeforeNs)} → ${duration(call.ownAfterNs)}</span>,
    <span class="whole">${probability(call.p)}</span>${call.isVictim ? ", queues for the work above" : ""}
    ${placeLink(call.location, workspace, reveal)}
  </li>`;
}
