/** What is pressed below the picture of two flows: zoom and direction, lines and common movement of the sides, the animation. */
import { html, nothing, type TemplateResult } from "lit";
import type { Flow as Direction } from "../../layout/types";
import { icon } from "../icons";
import { type Player, SPEEDS } from "./player";

export interface DrawingControls {
  direction: Direction;
  turn: (to: Direction) => void;
  zoom: (factor: number) => void;
  fit: () => void;
  /** Where something was taken apart. */
  foldAgain: (() => void) | undefined;
  sides:
    | {
        synced: boolean;
        sync: (synced: boolean) => void;
        allLines: boolean;
        showAll: (all: boolean) => void;
        hidden: string;
      }
    | undefined;
}

export function drawingControls({ direction, turn, zoom, fit, foldAgain, sides }: DrawingControls): TemplateResult {
  const button = (name: "minus" | "plus" | "fit" | "down" | "right", title: string, run: () => void): TemplateResult =>
    html`<button type="button" title=${title} aria-label=${title} @click=${run}>${icon(name)}</button>`;
  const other = direction === "down" ? "right" : "down";
  return html`<div class="graph-controls" role="toolbar" aria-label="Zoom">
    ${
      sides
        ? html`${checkbox("Move together", sides.synced, sides.sync)}
            <span title=${sides.hidden}>${checkbox("All lines", sides.allLines, sides.showAll)}</span>`
        : nothing
    }
    ${foldAgain ? html`<button type="button" title="Fold what was taken apart (x)" @click=${foldAgain}>Fold again</button>` : nothing}
    ${button(other, other === "right" ? "Draw from left to right" : "Draw from top to bottom", () => {
      turn(other);
    })}
    ${button("minus", "Zoom out (−)", () => {
      zoom(1 / 1.3);
    })}
    ${button("plus", "Zoom in (+)", () => {
      zoom(1.3);
    })}
    ${button("fit", "Show all (f)", fit)}
  </div>`;
}

const STATES = {
  before: "The state before",
  after: "The state after",
  between: "Between the two: no state that ever was",
} as const;

export function animationControls(player: Player, changeSpeed: (speed: number) => void): TemplateResult {
  const step = (by: 1 | -1, title: string, name: "back" | "forward"): TemplateResult =>
    html`<button
      type="button"
      title=${title}
      aria-label=${title}
      @click=${() => {
        player.step(by);
      }}
    >
      ${icon(name)}
    </button>`;
  return html`<div class="animation-controls" role="toolbar" aria-label="Animation">
    <button
      type="button"
      class="play"
      @click=${() => {
        if (player.playing) player.pause();
        else player.play();
      }}
    >
      ${icon(player.playing ? "pause" : "play")} ${player.playing ? "Pause" : "Play"}
    </button>
    ${step(-1, "A step towards before (,)", "back")}
    <span class="end before" aria-hidden="true">before</span>
    <input
      type="range"
      min="0"
      max="1"
      step="0.01"
      aria-label="From before to after"
      aria-valuetext=${STATES[player.state]}
      .value=${String(player.time)}
      @input=${(event: Event) => {
        player.goTo(Number((event.target as HTMLInputElement).value));
      }}
    />
    <span class="end after" aria-hidden="true">after</span>
    ${step(1, "A step towards after (.)", "forward")}
    <label
      >Speed
      <select
        aria-label="Speed"
        @change=${(event: Event) => {
          changeSpeed(Number((event.target as HTMLSelectElement).value));
        }}
      >
        ${SPEEDS.map((speed) => html`<option value=${speed} .selected=${speed === player.speed}>×${speed}</option>`)}
      </select></label
    >
    <span class="state ${player.state}" role="status">${player.playing ? "" : STATES[player.state]}</span>
  </div>`;
}

export function checkbox(
  name: string,
  checked: boolean,
  change: (checked: boolean) => void,
  title = "",
): TemplateResult {
  return html`<label class="check" title=${title}
    ><input
      type="checkbox"
      .checked=${checked}
      @change=${(event: Event) => {
        change((event.target as HTMLInputElement).checked);
      }}
    />
    ${name}</label
  >`;
}
