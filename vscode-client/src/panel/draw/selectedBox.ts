/** A box of the aggregate in words: its figures, its place in source, and the way into it. */
import { html, nothing, type TemplateResult } from "lit";
import type { AggregateBox, Location } from "../../shared/protocol";
import { facts } from "../model/aggregate";
import { thousands } from "../model/format";
import { linkButton, placeLink } from "./parts";

export interface BoxActions {
  readonly workspace: string;
  reveal(location: Location): void;
  /** Opens it, or closes it where it is opened. */
  enter(): void;
}

/** What is known of the box that is selected, with ways on from it. */
export function selectedBox(box: AggregateBox, isOpened: boolean, act: BoxActions): TemplateResult {
  return html`<section class="selected">
    <h3>${box.label} <small class="muted">${box.level}</small></h3>
    <p class="numbers">
      ${facts(box)
        .map((fact) => `${fact.name} ${fact.value}`)
        .join(" · ")}
    </p>
    <p class="actions">
      ${placeLink(box.location, act.workspace, (location) => {
        act.reveal(location);
      })}
      ${
        box.inside > 0
          ? linkButton(isOpened ? "Close it" : `Open it (${thousands(box.inside)})`, () => {
              act.enter();
            })
          : nothing
      }
    </p>
  </section>`;
}
