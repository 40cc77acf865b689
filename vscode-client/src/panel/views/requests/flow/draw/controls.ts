/** Controls below the picture of two flows: lines and common movement of the sides, and the animation. */
import { html, type TemplateResult } from "lit";
import { icon } from "../../../../ui/icons";
import { type Player, SPEEDS } from "./player";

export interface SideControls {
  synced: boolean;
  sync: (synced: boolean) => void;
  allLines: boolean;
  showAll: (all: boolean) => void;
  /** Lines that are not drawn, in words. */
  hidden: string;
}

export function sideControls({ synced, sync, allLines, showAll, hidden }: SideControls): TemplateResult {
  return html`${checkbox("Move together", synced, sync)}
    <span title=${hidden}>${checkbox("All lines", allLines, showAll)}</span>`;
}

export function foldAgain(run: () => void): TemplateResult {
  return html`<button type="button" title="Fold the opened groups (x)" @click=${run}>Fold again</button>`;
}

const STATES = {
  before: "State before",
  after: "State after",
  between: "Interpolated (not a recorded state)",
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
    ${step(-1, "One step towards before (,)", "back")}
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
    ${step(1, "One step towards after (.)", "forward")}
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
  name: string | TemplateResult,
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
