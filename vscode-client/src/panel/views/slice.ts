/**
 * The slice: what led to an event (or what it led to) as a layered graph, with the chain of why beside it.
 *
 * Invariant: every result is drawn from one answer of the server; nothing is computed here but what is drawn where.
 */
import { html, nothing, type TemplateResult } from "lit";
import "@vscode-elements/elements/dist/vscode-checkbox/index.js";
import type { ChainStep, CriticalPathResult, PathSegment, SliceParams, SliceResult } from "../../shared/protocol";
import type { GraphElement } from "../draw/graph";
import "../draw/graph";
import { asking, emptyState, gapSample, notice, placeLink, RECORD_COMMAND, sliceLegend } from "../draw/parts";
import { segmentLegend, segmentList } from "../draw/segments";
import { type ChainLine, chainLines } from "../model/chain";
import { count, duration } from "../model/format";
import { fromSlice, nodesOf, type PanelGraph, type PanelNode, search } from "../model/graph";
import type { SliceQuestion } from "../kinds/slice";
import type { Place } from "../model/place";
import { describeTarget } from "../model/question";
import { everyoneLink } from "./everyone";
import type { Context, SelectedEvent, Selection, View } from "./view";

interface Answer {
  params: SliceParams;
  result: SliceResult;
  graph: PanelGraph;
}

export class SliceView implements View<SliceQuestion, Answer> {
  private answer: Answer | undefined;
  private asked = 0;
  private selected: readonly string[] = [];
  private step: ChainStep | undefined;
  private criticalPath: { of: Answer; result?: CriticalPathResult; error?: string } | undefined;
  private openedRows: ReadonlySet<number> = new Set();
  private match = -1;

  constructor(private readonly context: Context<SliceQuestion>) {}

  async open(question: SliceQuestion): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const { showPath: _drawn, maxNodes = this.context.store.state.maxNodes, ...rest } = question;
    const params: SliceParams = { ...rest, maxNodes };
    const result = await this.context.request("clew/slice", params);
    if (asked === this.asked) this.handle({ params, result, graph: fromSlice(result) });
  }

  handle(answer: Answer): void {
    this.answer = answer;
    this.show(answer);
  }

  unhandle(): void {
    this.answer = undefined;
    this.asked += 1; // an answer under way is not wanted any more
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
        this.element?.zoomBy(1.3);
        return true;
      case "-":
        this.element?.zoomBy(1 / 1.3);
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
    const choice = (direction: "backward" | "forward", word: string, title: string): TemplateResult =>
      html`<button
        type="button"
        aria-pressed=${chosen === direction ? "true" : "false"}
        title=${title}
        @click=${() => {
          if (chosen !== direction) this.context.ask({ ...question, direction });
        }}
      >
        ${word}
      </button>`;
    return html`<div class="choice" role="group" aria-label="Direction">
        ${choice("backward", "Causes", `What led to ${describeTarget(question.target)}`)}
        ${choice("forward", "Effects", `What came of ${describeTarget(question.target)}`)}
      </div>
      <vscode-checkbox
        label="Critical path"
        title="Show where the time went (p)"
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
    if (!answer) return html`<div class="view">${busy > 0 ? asking("Asking …") : nothing}</div>`;
    const { result, graph } = answer;
    if (graph.nodes.length === 0) return this.drawEmpty(answer);
    if (showPath) void this.loadPath(answer);
    return html`<div class="view with-side">
      <div class="main">
        ${result.message ? notice("info", result.message) : nothing} ${this.hidden(answer)}
        <clew-graph
          .graph=${graph}
          .selected=${this.selected}
          .found=${this.matches()}
          .showPath=${showPath}
          .flow=${place.flow}
          .label=${`${result.title}: ${count(graph.nodes.length, "box")}. Arrow keys move along the edges, Enter shows the source.`}
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
      <aside class="side" aria-label="What the graph says">
        <div class="reading">
          <section class="summary">
            <h2>${result.title}</h2>
            <p class="numbers">${numbers(result)}</p>
            ${
              result.hiddenGaps > 0
                ? html`<p class="numbers">
                    ${count(result.hiddenGaps, "more gap")} beside it, shorter ones, are not drawn.
                  </p>`
                : nothing
            }
          </section>
          ${showPath ? this.drawPath() : nothing} ${this.drawChain(result, graph)}
        </div>
        ${this.drawNode(graph, workspace)}
      </aside>
    </div>`;
  }

  private drawEmpty({ result }: Answer): TemplateResult {
    const noRun = this.context.store.state.runs.length === 0 && this.context.store.state.runsKnown;
    const message = result.message || "Nothing that was recorded led to this.";
    return html`<div class="view">
      ${
        noRun
          ? emptyState("No run yet", "Record your program in a terminal, then come back:", RECORD_COMMAND)
          : emptyState(result.title || "Nothing to show", message)
      }
    </div>`;
  }

  private drawChain(result: SliceResult, graph: PanelGraph): TemplateResult | typeof nothing {
    const lines = chainLines(result.chain, graph.processes);
    if (lines.length === 0) return nothing;
    const forward = result.direction === "forward";
    return html`<section class="chain" aria-labelledby="chain-title">
      <h3 id="chain-title">${forward ? "What came of it" : "Why, step by step"}</h3>
      <ol>
        ${lines.map((line) => this.drawStep(line))}
      </ol>
    </section>`;
  }

  private drawStep(line: ChainLine): TemplateResult {
    const current = this.step === line.step || (!this.step && this.selected.includes(line.step.nodeId));
    const others = line.step.otherCauses;
    return html`<li class="step ${current ? "current" : ""} ${line.crosses ? "crosses" : ""}">
      <button
        type="button"
        class="step-body"
        aria-current=${current ? "step" : "false"}
        title=${line.step.location ? `${line.step.location.path}:${line.step.location.line}` : "No source is known"}
        @click=${() => {
          this.choose(line.step.nodeId ? [line.step.nodeId] : [], line.step);
          this.context.reveal(line.step.location);
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
              title="Ask why from this step"
              @click=${() => {
                this.context.ask({ ...this.context.question, target: { event: line.step.event } });
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

  private drawPath(): TemplateResult {
    const path = this.criticalPath;
    return html`<section class="path" aria-labelledby="path-title">
      <h3 id="path-title">
        Critical path ${path?.result ? html`<small>${duration(path.result.totalNs)}</small>` : nothing}
      </h3>
      ${
        path?.error
          ? notice("error", path.error)
          : !path?.result
            ? html`<p class="muted">Asking …</p>`
            : path.result.segments.length === 0
              ? html`<p class="muted">${path.result.message || "There is no path to show."}</p>`
              : html`${segmentLegend(path.result)}
                ${segmentList(
                  path.result,
                  {
                    selected: new Set(this.selected),
                    opened: this.openedRows,
                    search: "",
                    open: (row) => {
                      this.openedRows = new Set([...this.openedRows, row.startNs]);
                      this.context.store.changed();
                    },
                    select: (segment: PathSegment) => {
                      this.choose(segment.nodeId ? [segment.nodeId] : []);
                    },
                    reveal: (location) => {
                      this.context.reveal(location);
                    },
                  },
                  false,
                )}`
      }
    </section>`;
  }

  private drawNode(graph: PanelGraph, workspace: string): TemplateResult | typeof nothing {
    const [id] = this.selected;
    const node = id === undefined ? undefined : graph.byId.get(id);
    if (!node) return nothing;
    const more = this.selected.length - 1;
    return html`<section class="selected" aria-live="polite" aria-label="Selected">
      <h3>${node.name}${more > 0 ? html` <small>and ${count(more, "more box")}</small>` : nothing}</h3>
      ${node.label === node.name ? nothing : html`<p class="label">${node.label}</p>`}
      ${node.detail ? html`<p class="detail">${node.detail}</p>` : nothing}
      ${node.gaps.map((gap) => html`<p class="because gone">${gapSample()}<span>${gap.text}</span></p>`)}
      ${clocksOf(graph, node).map((clock) => html`<p class="detail clock">${clock}</p>`)}
      <dl>
        ${node.facts.map(
          (fact) =>
            html`<dt>${fact.name}</dt>
              <dd>${fact.value}</dd>`,
        )}
      </dl>
      <p class="actions">
        ${placeLink(node.location, workspace, (location) => {
          this.context.reveal(location);
        })}
        ${this.askFrom(node)} ${everyoneLink(this.context, this.shownRun() ?? "", this.timeOf(node))}
      </p>
    </section>`;
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
    return html`<button type="button" class="link" @click=${go("backward")}>Why this?</button>
      <button type="button" class="link" @click=${go("forward")}>What came of it?</button>`;
  }

  private hidden({ params, result }: Answer): TemplateResult | typeof nothing {
    if (result.hiddenNodes <= 0) return nothing;
    const shown = params.maxNodes ?? result.nodes.length;
    return notice("info", `${count(result.hiddenNodes, "more box")} hidden.`, {
      name: "Show more",
      run: () => {
        const maxNodes = Math.min(shown + Math.max(shown, result.hiddenNodes), shown * 2);
        this.context.ask({ ...this.context.question, maxNodes });
      },
    });
  }

  private async loadPath(answer: Answer): Promise<void> {
    if (this.criticalPath?.of === answer) return;
    const loading: NonNullable<typeof this.criticalPath> = { of: answer };
    this.criticalPath = loading;
    this.openedRows = new Set();
    try {
      const { target, run = "", level } = answer.params;
      const asked = level === undefined || level === "event" ? { target, run } : { target, run, level };
      loading.result = await this.context.request("clew/criticalPath", asked);
    } catch (error) {
      loading.error = error instanceof Error ? error.message : String(error);
    }
    this.context.store.changed();
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

/** What the arrows from and to a box say of clocks, each once. */
function clocksOf(graph: PanelGraph, node: PanelNode): string[] {
  const edges = [...(graph.incoming.get(node.id) ?? []), ...(graph.outgoing.get(node.id) ?? [])];
  return [...new Set(edges.map((edge) => edge.clock).filter(Boolean))];
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
