/** The bar of the player: buttons, the activity over the run's time, and the current position. */
import { html, nothing, svg, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { duration, thousands } from "../../../ui/text/format";
import { SPEEDS } from "../player/clock";
import type { EntityPlayer } from "../player/player";
import { icon } from "../../../ui/icons";

/** Of the seek bar: as fine as a screen. */
export const SEEKS = 2000;

export interface BarActions {
  seek(share: number): void;
  step(by: 1 | -1): void;
  /** Is there more to come? Then it can be followed. */
  readonly live: boolean;
  /** Why that comes late. */
  readonly unheard: string;
}

export function playerBar(player: EntityPlayer, activity: readonly number[], act: BarActions): TemplateResult {
  const { playback, playing, state } = player;
  const { from, to } = playback.span;
  const button = (title: string, picture: TemplateResult, run: () => void, pressed?: boolean): TemplateResult =>
    html`<button
      type="button"
      class="quiet"
      title=${title}
      aria-label=${title}
      aria-pressed=${pressed === undefined ? nothing : pressed ? "true" : "false"}
      @click=${run}
    >
      ${picture}
    </button>`;
  const moves = playing === 1 || player.following;
  const play = (direction: 1 | -1): void => {
    if (playing === direction || (moves && direction === 1)) player.pause();
    else player.play(direction);
  };
  const at = duration(playback.ns - from);
  return html`<div class="entity-bar" role="group" aria-label="Player">
    <span class="buttons">
      ${button("Go to the start (Home)", icon("first"), () => void player.goTo({ moment: 0 }))}
      ${button("One event back (←)", icon("back"), () => {
        act.step(-1);
      })}
      ${button(
        playing === -1 ? "Pause (Space)" : "Play backward (Shift Space)",
        icon(playing === -1 ? "pause" : "reverse"),
        () => {
          play(-1);
        },
      )}
      <button
        type="button"
        class="play"
        title=${moves ? "Pause (Space)" : "Play (Space)"}
        @click=${() => {
          play(1);
        }}
      >
        ${icon(moves ? "pause" : "play")}<span>${moves ? "Pause" : "Play"}</span>
      </button>
      ${button("One event forward (→)", icon("forward"), () => {
        act.step(1);
      })}
      ${button("Go to the end (End)", icon("last"), () => void player.goTo({ moment: player.moments }))}
    </span>
    <span class="seek">
      ${guard([activity], () => spark(activity))}
      <input
        type="range"
        min="0"
        max=${SEEKS}
        .value=${String(Math.round(playback.share * SEEKS))}
        aria-label="Time"
        aria-valuetext=${`${at} of ${duration(to - from)}`}
        @input=${(event: Event) => {
          act.seek(Number((event.target as HTMLInputElement).value) / SEEKS);
        }}
      />
    </span>
    <output class="at" title=${`Event ${thousands(state.moment)} of ${thousands(player.moments)}`}>
      <b>${at}</b>
      <span class="muted">of ${duration(to - from)} · ${thousands(state.moment)} of ${thousands(player.moments)}</span>
    </output>
    <label class="picker speed" title=${playback.said}
      ><span class="unseen">Speed</span>
      <select
        aria-label="Speed"
        @change=${(event: Event) => {
          playback.setRate(Number((event.target as HTMLSelectElement).value));
        }}
      >
        ${SPEEDS.map((speed) => html`<option value=${speed} .selected=${speed === playback.rate}>× ${speed}</option>`)}
      </select></label
    >
    ${
      act.live
        ? html`<button
            type="button"
            class="follow"
            aria-pressed=${player.following ? "true" : "false"}
            title=${act.unheard ? `About 1 s behind (no relay: ${act.unheard})` : "Follow the live run"}
            @click=${() => {
              player.follow(!player.following);
            }}
          >
            ${act.unheard ? "Live, 1 s late" : "Live"}
          </button>`
        : nothing
    }
  </div>`;
}

/** How much happened when. */
function spark(activity: readonly number[]): TemplateResult {
  const most = Math.sqrt(Math.max(1, ...activity));
  const height = (count: number): number => (count === 0 ? 0 : 2 + (18 * Math.sqrt(count)) / most);
  const points = activity.map(
    (count, at) => `L${at} ${(20 - height(count)).toFixed(1)}L${at + 1} ${(20 - height(count)).toFixed(1)}`,
  );
  return html`<svg
    class="spark"
    viewBox="0 0 ${Math.max(1, activity.length)} 20"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    ${svg`<path d=${`M0 20${points.join("")}L${activity.length} 20Z`} />`}
  </svg>`;
}
