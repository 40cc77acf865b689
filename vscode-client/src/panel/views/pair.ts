/**
 * What views of two runs have in common: a history of answers, the graph of both runs with what is chosen in it, and its keys.
 *
 * Invariant: another answer for the same two runs takes the place of the last one; going back never asks again.
 */
import type { TemplateResult } from "lit";
import type { GraphElement } from "../draw/graph";
import { nodesOf, type PanelGraph, search } from "../model/graph";
import type { Place, ViewName } from "../model/place";
import { History } from "./history";
import type { Context, Selection, View } from "./view";

export abstract class PairView<Answer extends { graph: PanelGraph | undefined }> implements View<Answer> {
  abstract readonly name: ViewName;
  abstract readonly title: string;
  abstract readonly hint: string;
  protected readonly answers = new History<Answer>();
  /** How often something was asked: an answer to an earlier question is late. */
  protected asked = 0;
  protected selected: readonly string[] = [];
  private match = -1;

  constructor(protected readonly context: Context) {}

  abstract open(place: Place): Promise<void>;
  abstract draw(): TemplateResult;
  abstract shownRun(): string | undefined;
  abstract found(): { matches: number; all: number };
  /** What says which two runs an answer is of. */
  protected abstract pairOf(answer: Answer): string;
  /** Where one comes back to the answer. */
  protected abstract placeOf(answer: Answer): Partial<Place>;

  handle(answer: Answer): void {
    const before = this.answers.current;
    if (before && this.pairOf(before) === this.pairOf(answer)) this.answers.replace(answer);
    else this.answers.push(answer);
    this.show(answer);
  }

  unhandle(): boolean {
    if (!this.answers.hasEarlier) return false;
    const answer = this.answers.pop();
    if (!answer) return false;
    this.asked += 1;
    this.context.remember(this.placeOf(answer));
    this.show(answer);
    return true;
  }

  canUnhandle(): boolean {
    return this.answers.hasEarlier;
  }

  select(selection: Selection): void {
    const graph = this.answers.current?.graph;
    if (graph) this.choose(nodesOf(graph, selection.label, selection.location));
  }

  focus(): void {
    document.querySelector<HTMLElement>(`.${this.name}-rows tbody tr`)?.focus();
  }

  key(event: KeyboardEvent): boolean {
    const graph = document.querySelector<GraphElement>("clew-graph");
    if (event.key === "f") graph?.fit();
    else if (event.key === "+" || event.key === "=") graph?.zoomBy(1.3);
    else if (event.key === "-") graph?.zoomBy(1 / 1.3);
    else if (event.key === "Escape" && this.selected.length > 0) this.choose([]);
    else return false;
    return true;
  }

  nextMatch(by: 1 | -1): void {
    const graph = this.answers.current?.graph;
    const matches = graph ? search(graph, this.context.store.state.place.search) : [];
    if (matches.length === 0) return;
    this.match = (this.match + by + matches.length) % matches.length;
    const id = matches[this.match];
    if (id !== undefined) this.choose([id]);
  }

  protected choose(nodes: readonly string[]): void {
    this.selected = nodes;
    this.context.store.changed();
  }

  private show(answer: Answer): void {
    this.selected = this.selected.filter((id) => answer.graph?.byId.has(id));
    this.match = -1;
    this.context.store.changed();
  }
}
