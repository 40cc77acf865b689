/** Details of the selected node of the graph. */
import { html, nothing, type TemplateResult } from "lit";
import type { Location } from "../../../shared/protocol";
import { count } from "../../ui/text/format";
import type { PanelGraph, PanelNode } from "../../graph/model";
import { gapSample, placeLink } from "../../ui/parts";

export interface NodeActions {
  readonly workspace: string;
  reveal(location: Location): void;
  /** Further links after its location. */
  more(node: PanelNode): unknown;
}

/** The first of the nodes that are selected, and how many more there are. */
export function drawNode(
  graph: PanelGraph,
  selected: readonly string[],
  act: NodeActions,
): TemplateResult | typeof nothing {
  const [id] = selected;
  const node = id === undefined ? undefined : graph.byId.get(id);
  if (!node) return nothing;
  const more = selected.length - 1;
  return html`<section class="selected" aria-live="polite" aria-label="Selected">
    <h3>${node.name}${more > 0 ? html` <small>and ${count(more, "more node")}</small>` : nothing}</h3>
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
      ${placeLink(node.location, act.workspace, (location) => {
        act.reveal(location);
      })}
      ${act.more(node)}
    </p>
  </section>`;
}

/** What the arrows from and to a node say of clocks, each once. */
function clocksOf(graph: PanelGraph, node: PanelNode): string[] {
  const edges = [...(graph.incoming.get(node.id) ?? []), ...(graph.outgoing.get(node.id) ?? [])];
  return [...new Set(edges.map((edge) => edge.clock).filter(Boolean))];
}
