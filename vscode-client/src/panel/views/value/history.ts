/**
 * The history of a state: its writes over time, a row for each writer, and the same as a table.
 *
 * Colour is never the only sign: the write in question has a ring, a race has a triangle, and the table has words for both.
 */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import type { HistoryLane, HistoryResult, Location, StateWrite } from "../../../shared/protocol";
import { commandLine, linkButton, notice, placeLink, sentence } from "../../ui/parts";
import { oneStop, rowKeys } from "../../ui/rows";
import { count, duration, offset } from "../../ui/text/format";
import { historyPicture, type HistoryPicture, type PlacedWrite, type Spacing } from "./historyModel";

const LANE = 36;
const LONGEST_VALUE = 16;

export interface HistoryActions {
  workspace: string;
  spacing: Spacing;
  /** The place of the selected write in the answer, -1 for none. */
  selected: number;
  select(number: number): void;
  reveal(location: Location): void;
  setSpacing(spacing: Spacing): void;
  /** Asks for another page of the writes. */
  skip(writes: number): void;
  /** Asks for a state of all objects. */
  state(name: string): void;
}

export function drawHistory(result: HistoryResult, act: HistoryActions): TemplateResult {
  if (result.writes.length === 0) {
    return html`<section class="value-part history-none">
      <h3>History</h3>
      <p>${sentence(result.message)}</p>
      ${
        result.command
          ? html`<p>This records them:</p>
              ${commandLine(result.command)}`
          : nothing
      }
    </section>`;
  }
  const picture = historyPicture(result, act.spacing);
  return html`<section class="history" aria-label=${`History of ${result.state}`}>
    ${result.notes.map((note) => notice("info", note))} ${drawPicture(result, picture, act)} ${drawTools(result, act)}
    ${drawTable(result, act)}
  </section>`;
}

function drawPicture(result: HistoryResult, picture: HistoryPicture, act: HistoryActions): TemplateResult {
  const height = result.lanes.length * LANE;
  const { readAt } = picture;
  return html`<div class="history-picture">
    <ol class="writers">
      ${result.lanes.map(
        (lane) =>
          html`<li title=${laneTitle(lane)}>
            <b>${lane.writer || lane.who}</b>
            ${lane.writer ? html`<span>${behalf(lane)}</span>` : nothing}
          </li>`,
      )}
    </ol>
    <div class="writes">
      <svg height=${height} role="img" aria-label=${pictureLabel(result)}>
        ${result.lanes.map((_lane, at) => svg`<line class="lane" x1="0" x2="100%" y1=${middle(at)} y2=${middle(at)} />`)}
        ${readAt === undefined ? nothing : svg`<line class="read" x1="${100 * readAt}%" x2="${100 * readAt}%" y1="0" y2=${height} />`}
        ${picture.lanes.map((lane, at) => lane.map((one) => drawMark(one, at, result, act)))}
      </svg>
      <span class="axis" aria-hidden="true">
        <span>${offset(picture.fromNs)}</span>
        ${
          readAt === undefined
            ? nothing
            : html`<span class="read-word" .style=${`left: ${100 * readAt}%; transform: translateX(-${100 * readAt}%)`}
                >read by ${result.reader}</span
              >`
        }
        <span>${act.spacing === "time" ? duration(picture.toNs - picture.fromNs) : "in order"}</span>
      </span>
    </div>
  </div>`;
}

function drawMark(
  { write, number, at, hasLabel }: PlacedWrite,
  lane: number,
  result: HistoryResult,
  act: HistoryActions,
): SVGTemplateResult {
  const y = middle(lane);
  const x = `${100 * at}%`;
  const classes = ["write", write.isMarked && "marked", write.race && "race", number === act.selected && "selected"];
  // A label to the left of a mark at the right end stays within the picture.
  const end = at > 0.85;
  return svg`<g class=${classes.filter(Boolean).join(" ")}
    @click=${() => {
      act.select(number);
    }}
  >
    <title>${writeTitle(write, result)}</title>
    ${write.isMarked || number === act.selected ? svg`<circle class="ring" cx=${x} cy=${y} r="9" />` : nothing}
    ${
      write.race
        ? svg`<svg x=${x} y=${y} overflow="visible"><path class="mark" d="M0-6.5 6.2 5H-6.2Z" /></svg>`
        : svg`<circle class="mark" cx=${x} cy=${y} r="5" />`
    }
    ${
      hasLabel || write.isMarked
        ? svg`<text x=${x} y=${y} dx=${end ? -13 : 13} dy="0.35em" text-anchor=${end ? "end" : "start"}>${shortened(write.change)}</text>`
        : nothing
    }
  </g>`;
}

function drawTools(result: HistoryResult, act: HistoryActions): TemplateResult {
  const { hiddenWrites, laterWrites, writes } = result;
  const earlier = hiddenWrites - laterWrites;
  const other = act.spacing === "time" ? "order" : "time";
  return html`<p class="history-tools">
    ${
      writes.length > 1
        ? linkButton(other === "order" ? "Space evenly" : "Space by time", () => {
            act.setSpacing(other);
          })
        : nothing
    }
    ${
      earlier > 0
        ? linkButton(count(earlier, "earlier write"), () => {
            act.skip(laterWrites + writes.length);
          })
        : nothing
    }
    ${
      laterWrites > 0
        ? linkButton(count(laterWrites, "later write"), () => {
            act.skip(Math.max(0, laterWrites - writes.length));
          })
        : nothing
    }
    ${result.others.map((name) =>
      linkButton(
        name,
        () => {
          act.state(name);
        },
        `The value depends on ${name}, too: show its history`,
      ),
    )}
  </p>`;
}

function drawTable(result: HistoryResult, act: HistoryActions): TemplateResult {
  const several = result.objects > 1;
  const states = new Set(result.writes.map(({ state }) => state).filter(Boolean));
  return html`<div class="table-room">
    <table class="history-rows" aria-label=${`Writes of ${result.state}, the oldest first`}>
      <thead>
        <tr>
          <th scope="col" class="number">Time</th>
          ${several ? html`<th scope="col">Object</th>` : nothing}
          <th scope="col">Write</th>
          <th scope="col">By</th>
          <th scope="col">In</th>
          <th scope="col">Code</th>
        </tr>
      </thead>
      <tbody ${oneStop()}>
        ${result.writes.map((write, number) => drawRow(write, number, result, states.size > 1, act))}
      </tbody>
    </table>
  </div>`;
}

function drawRow(
  write: StateWrite,
  number: number,
  result: HistoryResult,
  named: boolean,
  act: HistoryActions,
): TemplateResult {
  const lane = result.lanes[write.lane];
  const isSelected = number === act.selected;
  const keys = rowKeys(() => {
    act.select(number);
  });
  return html`<tr
    class=${isSelected ? "selected" : ""}
    tabindex="-1"
    aria-current=${isSelected ? "true" : "false"}
    @click=${keys.click}
    @keydown=${keys.keydown}
  >
    <td class="number">${offset(write.timeNs)}</td>
    ${result.objects > 1 ? html`<td>${write.object > 0 ? `#${write.object}` : ""}</td>` : nothing}
    <th scope="row">
      <code>${named ? written(write) : write.change}</code>
      ${write.isMarked ? html`<span class="tag">${result.reader ? `read by ${result.reader}` : "the one in question"}</span>` : nothing}
      ${write.race ? html`<span class="tag race" title=${write.race}>race</span>` : nothing}
    </th>
    <td>${write.by}${lane?.caller ? html`<span class="where">called by ${lane.caller}</span>` : nothing}</td>
    <td>
      ${lane?.writer ? lane.who : ""}${lane?.request ? html`<span class="where">for ${lane.request}</span>` : nothing}
    </td>
    <td>
      ${placeLink(write.location, act.workspace, (location) => {
        act.reveal(location);
      })}
    </td>
  </tr>`;
}

/** `Cart.discount = 110`; a change of a container's content stands alone. */
function written({ state, change }: StateWrite): string {
  return state ? `${state}${change.startsWith(".") || change.startsWith("[") ? "" : " "}${change}` : change;
}

function laneTitle(lane: HistoryLane): string {
  return [lane.writer, behalf(lane), count(lane.writes, "write")].filter(Boolean).join(" · ");
}

/** On whose behalf a writer wrote, and where. */
function behalf({ caller, who, request }: HistoryLane): string {
  return [caller && `called by ${caller}`, request && `for ${request}`, who].filter(Boolean).join(" · ");
}

function pictureLabel({ state, writes, lanes, last }: HistoryResult): string {
  return `${count(writes.length, "write")} of ${state} by ${count(lanes.length, "writer")}. ${last?.sentence ?? ""}`;
}

function writeTitle(write: StateWrite, result: HistoryResult): string {
  const lane = result.lanes[write.lane];
  return [written(write), write.by, lane ? behalf(lane) : "", offset(write.timeNs), write.race]
    .filter(Boolean)
    .join(" · ");
}

function shortened(change: string): string {
  const value = change.replace(/^= /, "");
  return value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE - 1)}…` : value;
}

function middle(lane: number): number {
  return lane * LANE + LANE / 2;
}
