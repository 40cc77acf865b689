/** The state diagram with its legend and the number of hidden states and transitions. */
import { html, type TemplateResult } from "lit";
import type { Location, PatternDiagram } from "../../../shared/protocol";
import { count } from "../../ui/text/format";
import { type PanelGraph, search } from "../../graph/model";
import type { Place } from "../../app/place";
import "../../graph/element";

export interface DiagramActions {
  /** A state, by its id. */
  choose(id: string): void;
  reveal(location: Location | null): void;
  /** Draws it in another direction. */
  turn(flow: "down" | "right"): void;
}

/** `state` is the chosen one. */
export function drawDiagram(
  diagram: PatternDiagram,
  graph: PanelGraph,
  state: string,
  place: Pick<Place, "flow" | "search">,
  act: DiagramActions,
): TemplateResult {
  const hidden = [
    diagram.hiddenStates > 0 ? count(diagram.hiddenStates, "more state") : "",
    diagram.hiddenMoves > 0 ? count(diagram.hiddenMoves, "rarer move") : "",
  ].filter(Boolean);
  return html`<section class="pattern-part" aria-label="What follows what">
    <h3>What follows what</h3>
    <p class="muted">
      Nodes are starts and ends of functions; a stronger colour means more time until the next state. Wider lines are
      more frequent. <b>8 / 10</b>: 10 times in total, 8 of them in this
      pattern.${hidden.length > 0 ? ` Left out: ${hidden.join(", ")}.` : ""}
    </p>
    <clew-graph
      class="pattern-diagram"
      .graph=${graph}
      .selected=${graph.byId.has(state) ? [state] : []}
      .found=${search(graph, place.search)}
      .flow=${place.flow}
      .label=${`Diagram of ${count(graph.nodes.length, "state")} and ${count(graph.edges.length, "move")}`}
      @clew-select=${(event: CustomEvent<string[]>) => {
        const [id = ""] = event.detail;
        act.choose(id);
      }}
      @clew-open=${(event: CustomEvent<string>) => {
        act.reveal(graph.byId.get(event.detail)?.location ?? null);
      }}
      @clew-flow=${(event: CustomEvent<"down" | "right">) => {
        act.turn(event.detail);
      }}
    ></clew-graph>
  </section>`;
}
