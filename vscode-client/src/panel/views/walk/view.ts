/**
 * The causal walk: the events around the visited ones, opened step by step, and the details of the current event.
 *
 * Invariant: the picture follows the walk in the panel and in the editor; drawn nodes stay in place.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { WalkCard, WalkEnd, WalkResult } from "../../../shared/protocol";
import { standing, type Walk, type Way } from "../../../shared/walk";
import type { GraphElement } from "../../graph/element";
import "../../graph/element";
import { loading, emptyState, linkButton, noRun, notice, placeLink, sliceLegend } from "../../ui/parts";
import { WAY_NAMES } from "../../app/page/walkBar";
import { ZOOM_STEP } from "../../ui/zoomControls";
import type { WalkQuestion } from "./question";
import { pinnedLayout } from "./pinnedLayout";
import { count, duration } from "../../ui/text/format";
import { type PanelGraph, search } from "../../graph/model";
import { nodeId, choices, type Known, learn, walkGraph, wayOfKey } from "./graph";
import { entitiesLink } from "../entities/link";
import type { Context, View } from "../contract";

export class WalkView implements View<WalkQuestion, Walk> {
  private known: Known | undefined;
  private drawn: { walk: Walk; known: Known; graph: PanelGraph; layout: ReturnType<typeof pinnedLayout> } | undefined;
  private match = -1;

  constructor(private readonly context: Context<WalkQuestion>) {}

  async open(question: WalkQuestion): Promise<void> {
    const { walk } = this.context.walker;
    const { event } = question.target;
    const isUnderWay = walk && (question.run ?? "") in { "": 0, [walk.result.run.id]: 0 };
    // The tab, or a link to the current event, continues the open walk.
    if (isUnderWay && (event === standing(walk) || Object.keys(question.target).length === 0)) {
      this.context.remember(placeOf(walk));
    } else if (isUnderWay && typeof event === "number" && this.known?.events.has(event))
      this.context.walker.visit(event);
    else {
      this.known = undefined;
      await this.context.walker.start(question);
    }
  }

  handle(walk: Walk): void {
    this.known = learn(this.known, walk);
    const graph = walkGraph(this.known, walk);
    const slots = new Map([...this.known.slots].map(([one, slot]) => [nodeId(one), slot]));
    this.drawn = { walk, known: this.known, graph, layout: pinnedLayout(slots, graph.edges) };
    if (this.context.store.state.place.view === "walk") this.context.remember(placeOf(walk));
  }

  unhandle(): void {
    this.known = undefined;
    this.drawn = undefined;
  }

  /** The walk is where it is, wherever the cursor goes. */
  select(): void {
    this.context.store.changed();
  }

  focus(): void {
    this.element?.focusNode();
  }

  shownRun(): string | undefined {
    return this.context.walker.walk?.result.run.id;
  }

  key(event: KeyboardEvent): boolean {
    const { walker } = this.context;
    const step = wayOfKey(event.key);
    const digit = /^Digit([2-9])$/.exec(event.code)?.[1];
    if (step) walker.step(step === "back" && event.shiftKey ? "forward" : step);
    else if (digit) walker.step(event.shiftKey ? "effect" : "cause", Number(digit) - 1);
    else if (event.key === "f") this.element?.fit();
    else if (event.key === "+" || event.key === "=") this.element?.zoomBy(ZOOM_STEP);
    else if (event.key === "-") this.element?.zoomBy(1 / ZOOM_STEP);
    else return false;
    return true;
  }

  found(): { matches: number; all: number } {
    return { matches: this.matches().length, all: this.drawn?.graph.nodes.length ?? 0 };
  }

  nextMatch(by: 1 | -1): void {
    const matches = this.matches();
    this.match = (this.match + by + matches.length) % Math.max(matches.length, 1);
    const id = matches[this.match];
    if (id !== undefined) this.element?.focusNode(id);
  }

  draw(): TemplateResult {
    const { walk } = this.context.walker;
    if (!walk) return this.drawNothing();
    if (this.drawn?.walk !== walk) this.handle(walk);
    const { drawn } = this;
    const { card } = walk.result;
    if (!drawn || !card) return this.drawNothing();
    const { graph, known, layout } = drawn;
    return html`<div class="view with-side walk">
      <div class="main">
        ${known.hidden > 0 ? notice("info", `${count(known.hidden, "node")} found earliest are no longer drawn.`) : nothing}
        <clew-graph
          .graph=${graph}
          .placed=${layout}
          .selected=${[nodeId(card.event)]}
          .found=${this.matches()}
          .flow=${"right"}
          .label=${`Walk, ${count(graph.nodes.length, "event")}. Left goes to the cause, right to the effect, up and down along the thread or task.`}
          @clew-select=${(event: CustomEvent<string[]>) => {
            const id = event.detail[0];
            const node = id === undefined ? undefined : graph.byId.get(id);
            if (node && node.firstEvent !== card.event) this.context.walker.visit(node.firstEvent);
          }}
          @clew-open=${(event: CustomEvent<string>) => {
            if (event.detail === nodeId(card.event)) this.context.reveal(card.location);
          }}
        ></clew-graph>
        ${sliceLegend(graph, false)}
      </div>
      <aside class="side" aria-label="Current event">
        <div class="reading">${this.drawCard(card)} ${this.drawChoices(walk.result)}</div>
      </aside>
    </div>`;
  }

  private drawNothing(): TemplateResult {
    const { busy, error, runs, runsKnown } = this.context.store.state;
    if (busy > 0 || error) return html`<div class="view">${busy > 0 ? loading("Loading …") : nothing}</div>`;
    return html`<div class="view">
      ${
        runsKnown && runs.length === 0
          ? noRun()
          : emptyState(
              "No walk",
              "Start a walk at a log line or a function in the editor, or press w at a node of Why.",
            )
      }
    </div>`;
  }

  private drawCard(card: WalkCard): TemplateResult {
    const { workspace } = this.context.store.state;
    return html`<section class="summary walk-card">
      <h2>${card.title}</h2>
      <p class="numbers">
        ${[card.machine, card.process, card.strand].filter(Boolean).join(" / ")} · event ${card.event}
        ${card.durationNs === null ? nothing : html` · ${duration(card.durationNs)}`}
      </p>
      ${
        card.facts.length > 0
          ? html`<dl>
              ${card.facts.map(
                (fact) =>
                  html`<dt>${fact.name}</dt>
                    <dd>${fact.value}</dd>`,
              )}
            </dl>`
          : nothing
      }
      ${card.text && !card.title.includes(card.text) ? html`<pre>${card.text}</pre>` : nothing}
      <p class="actions">
        ${placeLink(card.location, workspace, (location) => {
          this.context.reveal(location);
        })}
        ${linkButton("Why this?", () => {
          this.context.go("slice", { target: { event: card.event }, run: this.shownRun() ?? "" });
        })}
        ${entitiesLink(this.context, this.shownRun() ?? "", card.timeNs)}
      </p>
    </section>`;
  }

  /** All events of the directions in which there are several. */
  private drawChoices(result: WalkResult): TemplateResult[] {
    return choices(result).map(
      ({ way, count: all, ends }) =>
        html`<section class="walk-choices">
          <h3>
            ${WAY_NAMES[way].mark} ${WAY_NAMES[way].name}
            <small>${all > ends.length ? `the nearest ${ends.length} of ${all}` : all}</small>
          </h3>
          <ol>
            ${ends.map((end, choice) => this.drawChoice(way, end, choice))}
          </ol>
        </section>`,
    );
  }

  private drawChoice(way: Way, end: WalkEnd, choice: number): TemplateResult {
    return html`<li>
      <button
        type="button"
        class="step-body"
        @click=${() => {
          this.context.walker.step(way, choice);
        }}
      >
        <span class="title">${end.title}</span>
        <span class="detail">${end.sentence}${end.onChain ? " · in the causal chain" : ""}</span>
      </button>
    </li>`;
  }

  private matches(): string[] {
    const { drawn } = this;
    return drawn ? search(drawn.graph, this.context.store.state.place.search) : [];
  }

  private get element(): GraphElement | null {
    return document.querySelector<GraphElement>("clew-graph");
  }
}

/** The question that leads to where a walk is. */
function placeOf(walk: Walk): WalkQuestion {
  return { target: { event: standing(walk) }, run: walk.result.run.id };
}
