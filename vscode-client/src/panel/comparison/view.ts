/**
 * The base class of views that compare two runs: the graph of both runs, its selection and its keys.
 *
 * Invariant: the selection stays in the next answer as far as the selected nodes are in it.
 */
import { nothing, type TemplateResult } from "lit";
import { Newest } from "../../shared/newest";
import type { FlowElement } from "../views/requests/flow/draw/element";
import type { GraphElement } from "../graph/element";
import { loading, emptyState } from "../ui/parts";
import { ZOOM_STEP } from "../ui/zoomControls";
import { nodesOf, search, type Searchable } from "../graph/model";
import type { Context, View } from "../views/contract";
import type { Selection } from "../views/selection";

export abstract class PairView<Q extends object, Answer extends { graph: Searchable | undefined }> implements View<
  Q,
  Answer
> {
  protected answer: Answer | undefined;
  protected readonly newest = new Newest();
  protected selected: readonly string[] = [];
  private match = -1;

  constructor(protected readonly context: Context<Q>) {}

  abstract open(question: Q): Promise<void>;
  abstract draw(): TemplateResult;
  abstract shownRun(): string | undefined;
  abstract found(): { matches: number; all: number };

  handle(answer: Answer): void {
    this.answer = answer;
    this.selected = this.selected.filter((id) => answer.graph?.byId.has(id));
    this.match = -1;
    this.context.store.changed();
  }

  unhandle(): void {
    this.answer = undefined;
    this.newest.forget();
    this.choose([]);
  }

  select(selection: Selection): void {
    const graph = this.answer?.graph;
    if (graph) this.choose(nodesOf(graph, selection.label, selection.location));
  }

  focus(): void {
    document.querySelector<HTMLElement>(".diff-rows tbody tr")?.focus();
  }

  key(event: KeyboardEvent): boolean {
    const graph = document.querySelector<GraphElement | FlowElement>("clew-graph, clew-flow");
    if (event.key === "f") graph?.fit();
    else if (event.key === "+" || event.key === "=") graph?.zoomBy(ZOOM_STEP);
    else if (event.key === "-") graph?.zoomBy(1 / ZOOM_STEP);
    else if (event.key === "Escape" && this.selected.length > 0) this.choose([]);
    else return false;
    return true;
  }

  nextMatch(by: 1 | -1): void {
    const graph = this.answer?.graph;
    const matches = graph ? search(graph, this.context.store.state.place.search) : [];
    if (matches.length === 0) return;
    this.match = (this.match + by + matches.length) % matches.length;
    const id = matches[this.match];
    if (id !== undefined) this.choose([id]);
  }

  /** Shown while there is no answer. An error is shown above the view and does not ask for other runs. */
  protected drawWaiting(): TemplateResult | typeof nothing {
    const { busy, error } = this.context.store.state;
    if (busy > 0) return loading("Comparing …");
    return error ? nothing : emptyState("Choose two runs", "Select the run before and the run after above.");
  }

  protected choose(nodes: readonly string[]): void {
    this.selected = nodes;
    this.context.store.changed();
  }
}
