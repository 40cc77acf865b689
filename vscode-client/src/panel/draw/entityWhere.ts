/** Above the picture of entities: which container is shown, and how many are left out. */
import { html, nothing, type TemplateResult } from "lit";
import type { EntitiesResult } from "../../shared/protocol";
import { count } from "../model/format";
import { linkButton } from "./parts";

/** `goTo` is told a container, undefined for all of them. */
export function entityWhere(
  { around, hidden }: EntitiesResult,
  goTo: (container: number | undefined) => void,
  showMore: () => void,
): TemplateResult | typeof nothing {
  const inside = around.at(-1);
  if (!inside && hidden === 0) return nothing;
  const link = (text: string, container: number | undefined): TemplateResult =>
    linkButton(text, () => {
      goTo(container);
    });
  return html`<nav class="entities-where" aria-label="Which container is shown">
    ${
      inside
        ? html`${link("All", undefined)}
          ${around.map((one) => (one === inside ? html` › <b>${one.name}</b>` : html` › ${link(one.name, one.entity)}`))}`
        : nothing
    }
    ${
      hidden > 0
        ? html`<span class="muted">${count(hidden, "more")} that hold least are left out</span>
            ${linkButton("Show more", showMore)}`
        : nothing
    }
  </nav>`;
}
