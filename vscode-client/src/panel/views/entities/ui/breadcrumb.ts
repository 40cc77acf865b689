/** The breadcrumb above the picture of entities: the shown container, and the number of hidden entities. */
import { html, nothing, type TemplateResult } from "lit";
import type { EntitiesResult } from "../../../../shared/protocol";
import { count } from "../../../ui/text/format";
import { linkButton } from "../../../ui/parts";

/** `goTo` receives a container, undefined for the whole run. */
export function breadcrumb(
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
  return html`<nav class="entities-where" aria-label="Shown container">
    ${
      inside
        ? html`${link("All", undefined)}
          ${around.map((one) => (one === inside ? html` › <b>${one.name}</b>` : html` › ${link(one.name, one.entity)}`))}`
        : nothing
    }
    ${
      hidden > 0
        ? html`<span class="muted">${count(hidden, "more")} that hold the least are not shown</span>
            ${linkButton("Show more", showMore)}`
        : nothing
    }
  </nav>`;
}
