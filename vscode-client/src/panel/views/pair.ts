/**
 * What views of two runs have in common: the graph of both runs with what is chosen in it, and its keys.
 *
 * Invariant: what is chosen stays chosen in the next answer, as far as it is there.
 */
import { nothing, type TemplateResult } from "lit";
import { Newest } from "../../shared/newest";
import type { FlowElement } from "../draw/flow/element";
import type { GraphElement } from "../draw/graph";
import { asking, emptyState } from "../draw/parts";
import { CLOSER } from "../draw/zoomControls";
import { nodesOf, search, type Searchable } from "../model/graph";
import type { Context, Selection, View } from "./view";

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
    else if (event.key === "+" || event.key === "=") graph?.zoomBy(CLOSER);
    else if (event.key === "-") graph?.zoomBy(1 / CLOSER);
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

  /** As long as there is no answer. What went wrong is said above the view, and is no reason to choose other runs. */
  protected drawWaiting(): TemplateResult | typeof nothing {
    const { busy, error } = this.context.store.state;
    if (busy > 0) return asking("Comparing …");
    return error ? nothing : emptyState("Which two runs?", "Choose the run before and the run after, above.");
  }

  protected choose(nodes: readonly string[]): void {
    this.selected = nodes;
    this.context.store.changed();
  }
}
