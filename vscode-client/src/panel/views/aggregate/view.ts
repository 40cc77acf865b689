/**
 * The aggregate view: nodes from machines down to functions that open in place, and a table of the nodes.
 *
 * Invariant: the drawing and the table show the same nodes; opening and closing moves no other node.
 */
import { html, nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { AggregateBox, AggregateParams, AggregateResult } from "../../../shared/protocol";
import { hiddenNodes } from "./hiddenNodes";
import { drawnFrames } from "./frames";
import { aggregatePickers } from "./pickers";
import { nodeTable, breadcrumb, type Order } from "./table";
import type { GraphElement } from "../../graph/element";
import "../../graph/element";
import { loading, emptyState, noRun, sliceLegend } from "../../ui/parts";
import { selectedNode } from "./selectedNode";
import type { DrawnFrame } from "../../graph/shapes";
import { ZOOM_STEP } from "../../ui/zoomControls";
import { nest, type Nested, nestedLayout } from "./nestedLayout";
import type { Layout } from "../../graph/layout/types";
import {
  aggregateGraph,
  type NodeGroup,
  type NodeMeasure,
  nodesOf,
  closing,
  groupsOf,
  idOf,
  MEASURE_ORDER,
  openedAround,
  opening,
  type Path,
  sorted,
} from "./model";
import { count } from "../../ui/text/format";
import { type PanelGraph, search } from "../../graph/model";
import { isArrow, nearest } from "../../graph/navigation";
import { neighbourOf } from "../../ui/listNavigation";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";

interface Answer {
  params: AggregateParams;
  result: AggregateResult;
}

interface Drawn {
  answer: Answer;
  groups: NodeGroup[];
  nodes: ReadonlyMap<string, AggregateBox>;
  graph: PanelGraph;
  nested: Nested;
  layout: Layout;
  frames: DrawnFrame[];
}

export class AggregateView implements View<AggregateParams, Answer> {
  private drawn: Drawn | undefined;
  private readonly newest = new Newest();
  private selected = "";
  /** Was it selected before the click that may open it? */
  private wasSelected = false;
  private sort: Order = { column: "self", reverse: false };
  private match = -1;

  constructor(private readonly context: Context<AggregateParams>) {}

  async open(params: AggregateParams): Promise<void> {
    const isNewest = this.newest.begin();
    const result = await this.context.request("clew/aggregate", params);
    if (isNewest()) this.handle({ params, result });
  }

  handle(answer: Answer): void {
    const { params, result } = answer;
    const before = this.drawn && isSamePicture(this.drawn.answer, answer) ? this.drawn : undefined;
    const groups = groupsOf(result);
    const graph = aggregateGraph(result, groups, params.measure ?? "self");
    const nested = nest(before?.nested, groups);
    const layout = nestedLayout(nested, graph.edges);
    this.drawn = {
      answer,
      groups,
      nodes: nodesOf(result),
      graph,
      nested,
      layout,
      frames: drawnFrames(groups, nested, layout),
    };
    if (params.measure && params.measure !== before?.answer.params.measure) {
      this.sort = { column: params.measure, reverse: false };
    }
    if (!this.drawn.nodes.has(this.selected)) this.selected = "";
    const opened = before && groups.find((group) => !before.nested.has(group.id));
    this.context.store.changed();
    if (opened) void this.show([opened.members[0] ?? opened.anchor, ...opened.members]);
  }

  unhandle(): void {
    this.drawn = undefined;
    this.newest.forget();
    this.context.store.changed();
  }

  select({ label }: Selection): void {
    const found = this.drawn?.answer.result.boxes.find((node) => node.path.at(-1) === label);
    if (found) this.choose(idOf(found.path));
  }

  focus(): void {
    this.element?.focusNode();
  }

  shownRun(): string | undefined {
    return this.drawn?.answer.result.run.id;
  }

  event(): SelectedEvent | undefined {
    const event = this.drawn?.nodes.get(this.selected)?.firstEvent;
    return event === undefined ? undefined : { event };
  }

  found(): { matches: number; all: number } {
    return { matches: this.matches().length, all: this.drawn?.graph.nodes.length ?? 0 };
  }

  nextMatch(by: 1 | -1): void {
    const matches = this.matches();
    this.match = (this.match + by + matches.length) % Math.max(matches.length, 1);
    const id = matches[this.match];
    if (id !== undefined) this.choose(id);
  }

  key(event: KeyboardEvent): boolean {
    const { drawn } = this;
    if (!drawn) return false;
    if (isArrow(event.key)) {
      const next = nearest(drawn.layout, this.selected, event.key);
      if (next !== undefined) {
        this.choose(next);
        this.element?.focusNode(next);
      }
    } else if (event.key === "Enter" && this.selected) this.enter(this.selected);
    else if (event.key === "Backspace") this.close(drawn.nodes.get(this.selected)?.path);
    else if (event.key === "h") this.ask({ measure: neighbourOf(MEASURE_ORDER, this.measure, 1) ?? "self" });
    else if (event.key === "f") this.element?.fit();
    else if (event.key === "+" || event.key === "=") this.element?.zoomBy(ZOOM_STEP);
    else if (event.key === "-") this.element?.zoomBy(1 / ZOOM_STEP);
    else return false;
    return true;
  }

  controls(): TemplateResult {
    const { strands = "thread" } = this.context.question;
    return aggregatePickers({ answer: this.drawn?.answer.result, strands, measure: this.measure }, (change) => {
      this.ask(change);
    });
  }

  draw(): TemplateResult {
    const { drawn } = this;
    const { busy, runs, runsKnown } = this.context.store.state;
    if (!drawn) return html`<div class="view">${busy > 0 ? loading("Aggregating …") : nothing}</div>`;
    const { result } = drawn.answer;
    if (result.boxes.length === 0) {
      return html`<div class="view">
        ${
          runs.length === 0 && runsKnown
            ? noRun()
            : emptyState("No nodes", result.message || "The run recorded no events.")
        }
      </div>`;
    }
    return html`<div class="view with-side aggregate">
      <div class="main">
        ${breadcrumb(result, drawn.answer.params.opened ?? [], drawn.nodes.get(this.selected)?.path ?? [], {
          closeAll: () => {
            this.ask({ opened: [] });
          },
          close: (path) => {
            this.close(path);
          },
        })}
        ${hiddenNodes(result, { maxBoxes: this.context.question.maxBoxes, measure: this.measure }, (maxBoxes) => {
          this.ask({ maxBoxes });
        })}
        <clew-graph
          .graph=${drawn.graph}
          .placed=${drawn.layout}
          .frames=${drawn.frames}
          .selected=${this.selected ? [this.selected] : []}
          .found=${this.matches()}
          .flow=${"right"}
          .label=${`Aggregate, ${count(drawn.graph.nodes.length, "node")}. Arrow keys go from node to node, Enter opens a node, Backspace closes its container.`}
          @clew-select=${(event: CustomEvent<string[]>) => {
            const id = event.detail[0] ?? "";
            this.wasSelected = id === this.selected;
            this.choose(id);
          }}
          @clew-open=${(event: CustomEvent<string>) => {
            if (this.wasSelected) this.enter(event.detail);
          }}
        ></clew-graph>
        ${sliceLegend(drawn.graph, false)}
      </div>
      <aside class="side" aria-label="Nodes as a table">
        <div class="reading">
          ${nodeTable(sorted(result.boxes, this.sort.column, this.sort.reverse), this.sort, this.selected, {
            sort: (column) => {
              const { column: by, reverse } = this.sort;
              this.sort = { column, reverse: column === by && !reverse };
              this.context.store.changed();
            },
            choose: (id) => {
              this.wasSelected = id === this.selected;
              if (this.wasSelected) this.enter(id);
              else this.choose(id);
            },
          })}
        </div>
        ${this.drawSelected(drawn)}
      </aside>
    </div>`;
  }

  private drawSelected({ nodes: boxes }: Drawn): TemplateResult | typeof nothing {
    const node = boxes.get(this.selected);
    if (!node) return nothing;
    return selectedNode(node, this.isOpened(node.path), {
      workspace: this.context.store.state.workspace,
      reveal: (location) => {
        this.context.reveal(location);
      },
      enter: () => {
        this.enter(this.selected);
      },
    });
  }

  private get measure(): NodeMeasure {
    return this.context.question.measure ?? "self";
  }

  private isOpened(path: Path): boolean {
    return this.drawn?.answer.result.containers.some((one) => idOf(one.box.path) === idOf(path)) ?? false;
  }

  /** Opens a node, closes one that is opened, shows the source of a function. */
  private enter(id: string): void {
    const node = this.drawn?.nodes.get(id);
    if (!node) return;
    if (node.inside === 0) this.context.reveal(node.location);
    else if (this.isOpened(node.path)) this.close(node.path);
    else this.ask({ opened: opening(this.context.question.opened ?? [], node.path) });
  }

  private close(path: Path | undefined): void {
    const opened = this.context.question.opened ?? [];
    const around = path && openedAround(opened, path);
    if (!around) return;
    this.selected = idOf(around);
    this.ask({ opened: closing(opened, around) });
  }

  private ask(change: Partial<AggregateParams>): void {
    this.context.ask({ ...this.context.question, ...change });
  }

  private choose(id: string): void {
    this.selected = id;
    this.context.store.changed();
  }

  private async show(ids: readonly string[]): Promise<void> {
    const { element } = this;
    if (!element) return;
    await new Promise((laid) => {
      element.addEventListener("clew-laid", laid, { once: true });
    });
    element.reveal(ids);
  }

  private matches(): string[] {
    const { drawn } = this;
    return drawn ? search(drawn.graph, this.context.store.state.place.search) : [];
  }

  private get element(): GraphElement | null {
    return document.querySelector<GraphElement>("clew-graph");
  }
}

/** Is a node in both the same, so that it stays in its place? */
function isSamePicture(before: Answer, after: Answer): boolean {
  const key = ({ params, result }: Answer): string =>
    JSON.stringify([result.run.id, result.level, params.strands ?? "thread", params.target ?? {}]);
  return key(before) === key(after);
}
