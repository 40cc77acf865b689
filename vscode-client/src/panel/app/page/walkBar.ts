/** The walk bar above every view: the current event, the meaning of the last step, and the available steps. */
import { html, nothing, type TemplateResult } from "lit";
import { count, offset } from "../../ui/text/format";
import { type Step, type Walk, WAYS } from "../../../shared/walk";
import type { Walker } from "../walker";
import { icon } from "../../ui/icons";
import { gapSample, linkButton, sentence } from "../../ui/parts";

export const WAY_NAMES: Record<(typeof WAYS)[number], { mark: string; name: string; key: string }> = {
  cause: { mark: "←", name: "Cause", key: "←" },
  effect: { mark: "→", name: "Effect", key: "→" },
  previous: { mark: "↑", name: "Previous", key: "↑" },
  next: { mark: "↓", name: "Next", key: "↓" },
  out: { mark: "⤴", name: "Out", key: "o" },
  in: { mark: "⤵", name: "In", key: "i" },
};
/** Of what was visited before, in the bar. */
const CRUMBS = 4;
const LONGEST = 44;

/** `isShown`: is the walk what the view below shows? Then the keys are arrows. */
export function walkBar(walk: Walk, walker: Walker, isShown: boolean, show: () => void): TemplateResult {
  const { card } = walk.result;
  if (!card) return html``;
  const facts = card.facts.slice(0, 6);
  return html`<section class="walk-bar" aria-label="Walk">
    <div class="walk-ways" role="toolbar" aria-label="Steps">
      ${WAYS.map((way) => wayButton(walk, walker, way, isShown))}
      <span class="walk-turns">${turnButton(walk, walker, "back")}${turnButton(walk, walker, "forward")}</span>
    </div>
    <div class="walk-here" aria-live="polite">
      <p class="walk-title">
        <b>${card.title}</b> <span class="muted">${offset(card.timeNs)} · ${card.process} / ${card.strand}</span>
      </p>
      ${
        facts.length > 0 && !isShown
          ? html`<p class="walk-values">
              ${facts.map((fact) => html`<span><i>${fact.name}</i> ${fact.value}</span>`)}
            </p>`
          : nothing
      }
      ${said(walk)}
    </div>
    <nav class="walk-crumbs" aria-label="Visited">${crumbs(walk, walker)}</nav>
    <div class="walk-end">
      ${isShown ? nothing : linkButton("Show the walk", show)}
      <button
        type="button"
        class="quiet"
        title="End the walk"
        aria-label="End the walk"
        @click=${() => {
          walker.end();
        }}
      >
        ${icon("close")}
      </button>
    </div>
  </section>`;
}

function wayButton(walk: Walk, walker: Walker, step: (typeof WAYS)[number], isShown: boolean): TemplateResult {
  const way = walk.result.ways.find((one) => one.step === step);
  const { mark, name, key } = WAY_NAMES[step];
  const first = way?.ends[0];
  const title = first ? `${first.title}\n${first.sentence}` : (way?.stop ?? "");
  return html`<button
    type="button"
    class="walk-way"
    title=${isShown ? `${title}\n(${key})` : title}
    aria-label=${`${name}: ${way ? count(way.count, "event") : "none"}`}
    ?disabled=${!first}
    @click=${() => {
      walker.step(step);
    }}
  >
    <span aria-hidden="true">${mark}</span>
    ${name}${way && way.count > 1 ? html` <small>${way.count}</small>` : nothing}
  </button>`;
}

function turnButton(walk: Walk, walker: Walker, step: Step & ("back" | "forward")): TemplateResult {
  const can = step === "back" ? walk.at > 0 : walk.at < walk.visited.length - 1;
  const name = step === "back" ? "Back in the walk" : "Forward in the walk";
  return html`<button
    type="button"
    class="quiet"
    title=${name}
    aria-label=${name}
    ?disabled=${!can}
    @click=${() => {
      walker.step(step);
    }}
  >
    ${icon(step)}
  </button>`;
}

/** What the last step meant, or why it led nowhere. */
function said({ result }: Walk): TemplateResult | typeof nothing {
  const lines = [
    result.sentence
      ? html`<p class=${result.moved ? "walk-said" : "walk-said stopped"}>${result.step}: ${result.sentence}</p>`
      : nothing,
    ...result.gaps.map((gap) => html`<p class="because gone">${gapSample()}<span>here ${gap.text}</span></p>`),
    result.clock ? html`<p class="muted">${result.clock}</p>` : nothing,
    result.message ? html`<p class="muted">${sentence(result.message)}</p>` : nothing,
  ];
  return html`${lines}`;
}

function crumbs(walk: Walk, walker: Walker): TemplateResult | typeof nothing {
  if (walk.visited.length < 2) return nothing;
  const from = Math.max(0, walk.at - CRUMBS);
  return html`${from > 0 ? html`<span class="muted">… ${from} before</span>` : nothing}
    <ol>
      ${walk.visited.slice(from, walk.at + 2).map((one, index) => {
        const isHere = from + index === walk.at;
        const text = one.title.length > LONGEST ? `${one.title.slice(0, LONGEST - 1)}…` : one.title;
        return html`<li>
          <button
            type="button"
            class="link"
            title=${one.title}
            aria-current=${isHere ? "step" : "false"}
            @click=${() => {
              walker.visit(one.event);
            }}
          >
            ${text}
          </button>
        </li>`;
      })}
    </ol>`;
}
