/** The side panel of entities: the selected entity with its last events, or the busiest entities. */
import { html, nothing, type TemplateResult } from "lit";
import type { EntityBox, EntityHappening, EntityResult, Location } from "../../../../shared/protocol";
import { count, duration, thousands } from "../../../ui/text/format";
import { linkButton, placeLink } from "../../../ui/parts";

export interface CardActions {
  readonly workspace: string;
  reveal(location: Location): void;
  select(entity: number): void;
  enter(entity: number): void;
  goTo(moment: number): void;
  /** From the last thing that the entity did, in another view. */
  follow(view: "walk" | "slice"): void;
  /** What threads and tasks did around the present moment. */
  timeline(): void;
  close(): void;
}

const TOLD = 12;

/** `labels` are names by entity that distinguish entities of the same name. */
export function entityCard(
  about: EntityResult,
  entity: number,
  fromNs: number,
  labels: ReadonlyMap<number, string>,
  act: CardActions,
): TemplateResult {
  const { box, name, kind, path, happenings, location } = about;
  const facts = [
    kind,
    box?.presence === "unplaced" ? "container unknown" : "",
    box?.presence === "gone" ? "deleted, but not empty" : "",
    box?.insideItself ? "contains itself" : "",
    box ? "" : "does not exist at this time",
  ].filter(Boolean);
  return html`<section class="entity-card" aria-label="Selected entity">
    <h2>${labels.get(entity) ?? name}</h2>
    ${path.length > 0 ? html`<p class="muted">in ${path.join(" › ")}</p>` : nothing}
    <p class="numbers">${facts.join(" · ")}</p>
    ${
      box
        ? html`<p class="numbers">
            ${box.holds > 0 ? html`holds ${thousands(box.holds)} · ` : nothing}sent ${thousands(box.sent)} · received
            ${thousands(box.received)}
          </p>`
        : nothing
    }
    <p class="ways">
      ${placeLink(location, act.workspace, (place) => {
        act.reveal(place);
      })}
      ${
        happenings.length > 0
          ? linkButton("Walk from here", () => {
              act.follow("walk");
            })
          : nothing
      }
      ${
        happenings.length > 0
          ? linkButton("Show its causes", () => {
              act.follow("slice");
            })
          : nothing
      }
      ${linkButton("Show on the timeline", () => {
        act.timeline();
      })}
      ${
        box && box.holds > 0
          ? linkButton("Look inside", () => {
              act.enter(entity);
            })
          : nothing
      }
    </p>
    <h3>Last events</h3>
    <ol class="happenings">
      ${happenings.slice(0, TOLD).map(
        (one) =>
          html`<li>
            ${linkButton(
              duration(one.ns - fromNs),
              () => {
                act.goTo(one.moment);
              },
              "Go to the moment after this event",
            )}
            <span>${sentence(one, entity, labels, act)}</span>
          </li>`,
      )}
    </ol>
    ${happenings.length === 0 ? html`<p class="muted">No events yet.</p>` : nothing}
  </section>`;
}

export function busiest(
  boxes: readonly EntityBox[],
  labels: ReadonlyMap<number, string>,
  act: CardActions,
  more: { left: number; show: () => void },
): TemplateResult {
  return html`<section aria-label="Busiest entities">
    <table class="entity-rows">
      <thead>
        <tr>
          <th scope="col">Entity</th>
          <th scope="col" class="number">Sent</th>
          <th scope="col" class="number">Received</th>
        </tr>
      </thead>
      <tbody>
        ${boxes.map(
          (box) =>
            html`<tr>
              <th scope="row">
                ${linkButton(labels.get(box.entity) ?? box.name, () => {
                  act.select(box.entity);
                })}
              </th>
              <td class="number">${thousands(box.sent)}</td>
              <td class="number">${thousands(box.received)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${
      more.left > 0
        ? html`<p class="entity-rest">
            <span class="muted">${count(more.left, "more")} with less communication</span>
            ${linkButton("Show more", more.show)}
          </p>`
        : nothing
    }
  </section>`;
}

function sentence(
  one: EntityHappening,
  entity: number,
  labels: ReadonlyMap<number, string>,
  act: CardActions,
): TemplateResult {
  const { what, entity: first, other, channel } = one;
  const [name, otherName] = [labels.get(first) ?? one.name, labels.get(other) ?? one.otherName];
  const named = (id: number, text: string): TemplateResult =>
    id === entity
      ? html`${text}`
      : linkButton(text, () => {
          act.select(id);
        });
  const way = channel ? html` <small>${channel}</small>` : nothing;
  if (what === "communication") return html`${named(first, name)} → ${named(other, otherName)}${way}`;
  if (what === "deletion") return html`${named(first, name)} ends`;
  return other >= 0
    ? html`${named(first, name)} moves into ${named(other, otherName)}`
    : html`${named(first, name)} appears`;
}

/** The counts in words, for screen readers. */
export function summary(boxes: ReadonlyMap<number, EntityBox>, lines: number): string {
  const holders = [...boxes.values()].filter((box) => box.holds > 0).length;
  const parts = [
    count(boxes.size - holders, "entity"),
    holders > 0 ? count(holders, "container") : "",
    count(lines, "line"),
  ];
  return parts.filter(Boolean).join(", ");
}
