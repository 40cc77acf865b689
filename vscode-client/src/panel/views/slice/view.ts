/**
 * The slice of an event: its causes (or effects) as a layered graph, with the causal chain next to it.
 *
 * Invariant: every picture is drawn from one answer of the server; the view computes only the layout.
 */
import { html, nothing, type TemplateResult } from "lit";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import { Newest } from "../../../shared/newest";
import type { ChainStep, SliceParams, SliceResult } from "../../../shared/protocol";
import { drawChain } from "./chain";
import { directionSwitch } from "./direction";
import type { GraphElement } from "../../graph/element";
import "../../graph/element";
import { drawNode } from "./selectedNode";
import { drawVerdict } from "./verdict";
import { loading, emptyState, linkButton, noRun, notice, sliceLegend } from "../../ui/parts";
import { ZOOM_STEP } from "../../ui/zoomControls";
import type { SliceQuestion } from "./question";
import { count } from "../../ui/text/format";
import { fromSlice, nodesOf, type PanelGraph, type PanelNode, search } from "../../graph/model";
import type { Place } from "../../app/place";
import { entitiesLink } from "../entities/link";
import { SlicePath } from "./criticalPath";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";

const NOTIFICATION_MS = 4000;

interface Answer {
  params: SliceParams;
  result: SliceResult;
  graph: PanelGraph;
}

export class SliceView implements View<SliceQuestion, Answer> {
  private answer: Answer | undefined;
  private readonly newest = new Newest();
  private selected: readonly string[] = [];
  private step: ChainStep | undefined;
  private readonly path: SlicePath;
  private match = -1;

  constructor(private readonly context: Context<SliceQuestion>) {
    this.path = new SlicePath(context);
  }

  async open(question: SliceQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    const { showPath: _drawn, maxNodes = this.context.store.state.maxNodes, ...rest } = question;
    const params: SliceParams = { ...rest, maxNodes };
    const result = await this.context.request("clew/slice", params);
    if (isNewest()) this.handle({ params, result, graph: fromSlice(result) });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.show(answer);
  }

  unhandle(): void {
    this.answer = undefined;
    this.newest.forget();
    this.choose([]);
  }

  select(selection: Selection): void {
    const graph = this.answer?.graph;
    if (!graph) return;
    const nodes = nodesOf(graph, selection.label, selection.location);
    if (nodes.length > 0) this.choose(nodes);
  }

  focus(): void {
    this.element?.focusNode();
  }

  key(event: KeyboardEvent): boolean {
    switch (event.key) {
      case "f":
        this.element?.fit();
        return true;
      case "+":
      case "=":
        this.element?.zoomBy(ZOOM_STEP);
        return true;
      case "-":
        this.element?.zoomBy(1 / ZOOM_STEP);
        return true;
      case "p":
        this.togglePath();
        return true;
      case "Escape":
        if (this.selected.length === 0) return false;
        this.choose([]);
        return true;
      default:
        return false;
    }
  }

  shownRun(): string | undefined {
    return this.answer?.result.run.id;
  }

  event(): SelectedEvent | undefined {
    const [id] = this.selected;
    const event = id === undefined ? -1 : (this.answer?.graph.byId.get(id)?.firstEvent ?? -1);
    return event >= 0 ? { event } : undefined;
  }

  found(): { matches: number; all: number } {
    return { matches: this.matches().length, all: this.answer?.graph.nodes.length ?? 0 };
  }

  nextMatch(by: 1 | -1): void {
    const matches = this.matches();
    if (matches.length === 0) return;
    this.match = (this.match + by + matches.length) % matches.length;
    const id = matches[this.match];
    if (id !== undefined) this.choose([id]);
  }

  controls(): TemplateResult {
    const { question } = this.context;
    const { direction: chosen = "backward", showPath = false } = question;
    return html`${directionSwitch(question.target, chosen, (direction) => {
        this.context.ask({ ...question, direction });
      })}
      <vscode-checkbox
        label="Critical path"
        title="Mark the critical path (p)"
        .checked=${showPath}
        @change=${() => {
          this.togglePath();
        }}
      ></vscode-checkbox>`;
  }

  draw(): TemplateResult {
    const { place, workspace, busy } = this.context.store.state;
    const { showPath = false } = this.context.question;
    const answer = this.answer;
    if (!answer) return html`<div class="view">${busy > 0 ? loading("Loading …") : nothing}</div>`;
    const { result, graph } = answer;
    if (graph.nodes.length === 0) return this.drawEmpty(answer);
    if (showPath) void this.path.load(answer.params);
    return html`<div class="view with-side">
      <div class="main">
        ${drawVerdict(result.verdict, {
          workspace,
          reveal: (location) => {
            this.context.reveal(location);
          },
          say: (words) => {
            this.say(words);
          },
          values: this.context.has("value")
            ? (asked) => {
                this.context.go("value", { ...asked, run: result.run.id });
              }
            : undefined,
        })}
        ${result.message ? notice("info", result.message) : nothing} ${this.hidden(answer)}
        <clew-graph
          .graph=${graph}
          .selected=${this.selected}
          .found=${this.matches()}
          .showPath=${showPath}
          .flow=${place.flow}
          .label=${`${result.title}: ${count(graph.nodes.length, "node")}. Arrow keys move along the edges, Enter shows the source.`}
          @clew-select=${(event: CustomEvent<string[]>) => {
            this.choose(event.detail);
          }}
          @clew-open=${(event: CustomEvent<string>) => {
            this.context.reveal(graph.byId.get(event.detail)?.location ?? null);
          }}
          @clew-flow=${(event: CustomEvent<Place["flow"]>) => {
            this.context.look({ flow: event.detail });
          }}
        ></clew-graph>
        ${sliceLegend(graph, showPath)}
      </div>
      <aside class="side" aria-label="Details of the graph">
        <div class="reading">
          <section class="summary">
            <h2>${result.title}</h2>
            <p class="numbers">${numbers(result)}</p>
            ${
              result.hiddenGaps > 0
                ? html`<p class="numbers">
                    ${count(result.hiddenGaps, "more gap")} parallel to it are shorter and not drawn.
                  </p>`
                : nothing
            }
          </section>
          ${
            showPath
              ? this.path.draw({
                  selected: this.selected,
                  choose: (nodes) => {
                    this.choose(nodes);
                  },
                })
              : nothing
          }
          ${this.drawChain(answer)}
        </div>
        ${this.drawNode(answer, workspace)}
      </aside>
    </div>`;
  }

  private say(words: string): void {
    const { store } = this.context;
    store.update({ notification: words });
    setTimeout(() => {
      if (store.state.notification === words) store.update({ notification: "" });
    }, NOTIFICATION_MS);
  }

  private drawEmpty({ result }: Answer): TemplateResult {
    const hasNone = this.context.store.state.runs.length === 0 && this.context.store.state.runsKnown;
    const message = result.message || "No recorded event caused this.";
    return html`<div class="view">${hasNone ? noRun() : emptyState(result.title || "Nothing to show", message)}</div>`;
  }

  private drawChain({ result, graph }: Answer): TemplateResult | typeof nothing {
    return drawChain(result, graph, {
      step: this.step,
      selected: this.selected,
      choose: (step) => {
        this.choose(step.nodeId ? [step.nodeId] : [], step);
        this.context.reveal(step.location);
      },
      ask: (event) => {
        this.context.ask({ ...this.context.question, target: { event } });
      },
    });
  }

  private drawNode({ graph }: Answer, workspace: string): TemplateResult | typeof nothing {
    return drawNode(graph, this.selected, {
      workspace,
      reveal: (location) => {
        this.context.reveal(location);
      },
      more: (node) =>
        html`${this.askFrom(node)} ${entitiesLink(this.context, this.shownRun() ?? "", this.timeOf(node))}`,
    });
  }

  /** Since the run's start; only of what the chain goes through. */
  private timeOf(node: PanelNode): number | undefined {
    const step = this.step ?? this.answer?.result.chain.find(({ nodeId }) => nodeId === node.id);
    return step?.timeNs;
  }

  private askFrom(node: PanelNode): TemplateResult | typeof nothing {
    if (node.firstEvent < 0) return nothing;
    const go = (direction: "backward" | "forward") => (): void => {
      this.context.ask({ ...this.context.question, target: { event: node.firstEvent }, direction });
    };
    return html`${linkButton("Why this?", go("backward"))} ${linkButton("What are its effects?", go("forward"))}`;
  }

  private hidden({ params, result }: Answer): TemplateResult | typeof nothing {
    if (result.hiddenNodes <= 0) return nothing;
    const shown = params.maxNodes ?? result.nodes.length;
    return notice("info", `${count(result.hiddenNodes, "more node")} hidden.`, {
      name: "Show more",
      run: () => {
        const maxNodes = Math.min(shown + Math.max(shown, result.hiddenNodes), shown * 2);
        this.context.ask({ ...this.context.question, maxNodes });
      },
    });
  }

  private togglePath(): void {
    this.context.remember({ ...this.context.question, showPath: !this.context.question.showPath });
  }

  private show(answer: Answer): void {
    const kept = this.selected.filter((id) => answer.graph.byId.has(id));
    this.selected = kept;
    this.step = undefined;
    this.match = -1;
    this.context.store.changed();
  }

  private choose(nodes: readonly string[], step?: ChainStep): void {
    this.selected = nodes;
    this.step = step;
    this.context.store.changed();
    if (step) void this.scrollToStep();
  }

  private async scrollToStep(): Promise<void> {
    await Promise.resolve();
    document.querySelector(".step.current")?.scrollIntoView({ block: "nearest" });
  }

  private matches(): string[] {
    const graph = this.answer?.graph;
    return graph ? search(graph, this.context.store.state.place.search) : [];
  }

  private get element(): GraphElement | null {
    return document.querySelector<GraphElement>("clew-graph");
  }
}

function numbers(result: SliceResult): string {
  const { events, eventsInRun, processes, strands } = result.numbers;
  return [
    `${count(events, "event")} of ${count(eventsInRun, "event").replace(/ events?$/, "")}`,
    count(processes, "process"),
    count(strands, "flow"),
    `${Math.max(1, Math.round(result.numbers.elapsedMs))} ms`,
  ].join(" · ");
}
