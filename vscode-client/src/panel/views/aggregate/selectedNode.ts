/** Details of the selected node: its statistics, its location in source, and a button that opens it. */
import { html, nothing, type TemplateResult } from "lit";
import type { AggregateBox, Location } from "../../../shared/protocol";
import { facts } from "./model";
import { thousands } from "../../ui/text/format";
import { linkButton, placeLink } from "../../ui/parts";

export interface NodeActions {
  readonly workspace: string;
  reveal(location: Location): void;
  /** Opens it, or closes it where it is opened. */
  enter(): void;
}

/** What is known of the node that is selected, with ways on from it. */
export function selectedNode(node: AggregateBox, isOpened: boolean, act: NodeActions): TemplateResult {
  return html`<section class="selected">
    <h3>${node.label} <small class="muted">${node.level}</small></h3>
    <p class="numbers">
      ${facts(node)
        .map((fact) => `${fact.name} ${fact.value}`)
        .join(" · ")}
    </p>
    <p class="actions">
      ${placeLink(node.location, act.workspace, (location) => {
        act.reveal(location);
      })}
      ${
        node.inside > 0
          ? linkButton(isOpened ? "Close" : `Open (${thousands(node.inside)})`, () => {
              act.enter();
            })
          : nothing
      }
    </p>
  </section>`;
}
