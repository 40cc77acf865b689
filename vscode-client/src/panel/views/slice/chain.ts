/** The causal chain in words: the causes (or effects) of an event step by step, each with location, time and mechanism. */
import { html, nothing, type TemplateResult } from "lit";
import type { ChainStep, SliceResult } from "../../../shared/protocol";
import { type ChainLine, chainLines } from "./chainLines";
import { count } from "../../ui/text/format";
import type { PanelGraph } from "../../graph/model";
import { gapSample } from "../../ui/parts";

export interface ChainActions {
  /** The step that was chosen last; else those of the selected nodes are the current ones. */
  readonly step: ChainStep | undefined;
  readonly selected: readonly string[];
  choose(step: ChainStep): void;
  /** Asks the same of a step's event. */
  ask(event: number): void;
}

/** The chain of an answer as a list, one step after the other. */
export function drawChain(result: SliceResult, graph: PanelGraph, act: ChainActions): TemplateResult | typeof nothing {
  const lines = chainLines(result.chain, graph.processes);
  if (lines.length === 0) return nothing;
  const forward = result.direction === "forward";
  return html`<section class="chain" aria-labelledby="chain-title">
    <h3 id="chain-title">${forward ? "Effects, step by step" : "Why, step by step"}</h3>
    <ol>
      ${lines.map((line) => drawStep(line, act))}
    </ol>
  </section>`;
}

function drawStep(line: ChainLine, act: ChainActions): TemplateResult {
  const current = act.step === line.step || (!act.step && act.selected.includes(line.step.nodeId));
  const others = line.step.otherCauses;
  return html`<li class="step ${current ? "current" : ""} ${line.crosses ? "crosses" : ""}">
    <button
      type="button"
      class="step-body"
      aria-current=${current ? "step" : "false"}
      title=${line.step.location ? `${line.step.location.path}:${line.step.location.line}` : "Source unknown"}
      @click=${() => {
        act.choose(line.step);
      }}
    >
      <span class="number">${line.number}</span>
      <span class="title">${line.title}</span>
      ${line.detail ? html`<span class="detail">${line.detail}</span>` : nothing}
      <span class="where"><b>${line.where}</b> ${line.time}</span>
    </button>
    ${
      others > 0
        ? html`<button
            type="button"
            class="link others"
            title="Ask why for this step"
            @click=${() => {
              act.ask(line.step.event);
            }}
          >
            + ${count(others, "other cause")}
          </button>`
        : nothing
    }
    ${line.missing.map((text) => html`<p class="because gone">${gapSample()}<span>here ${text}</span></p>`)}
    ${
      line.because
        ? html`<p class="because ${line.kind}"><span class="edge-mark" aria-hidden="true"></span>${line.because}</p>`
        : nothing
    }
    ${line.clock ? html`<p class="because clock">${line.clock}</p>` : nothing}
  </li>`;
}
