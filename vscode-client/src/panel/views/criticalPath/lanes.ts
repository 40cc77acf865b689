/** Draws the critical path over time: a lane per thread or task, and the transitions between them. */
import { html, nothing, svg, type SVGTemplateResult, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import type { PathSegment } from "../../../shared/protocol";
import { duration, shortLabel } from "../../ui/text/format";
import { type PathLanes, type Piece } from "../../segments/path";
import { type PathZoom, widthOf } from "./zoom";

export const LANE = 22;
export const BAR = 12;
const TOP = (LANE - BAR) / 2;
/** Of the room, so that the shortest is seen. */
export const SMALLEST = 0.0015;

export interface LaneActions {
  selected: ReadonlySet<string>;
  zoom: PathZoom;
  select(segment: PathSegment): void;
  /** Told of the element that it is drawn in: the same function at each drawing. */
  readonly attach: (element: Element | undefined) => void;
}

/** Names stand in a column of their own, so that they are never drawn over. */
export function drawPathLanes({ lanes, handOvers }: PathLanes, totalNs: number, act: LaneActions): TemplateResult {
  const height = lanes.length * LANE;
  const { zoom } = act;
  return html`<div class="path-lanes" ${ref(act.attach)}>
    <ol class="lane-names">
      ${lanes.map((lane) => html`<li title=${lane.name}>${lane.name}</li>`)}
    </ol>
    <div
      class="lane-bars"
      ${ref(zoom.attach)}
      @wheel=${(event: WheelEvent) => {
        zoom.wheel(event);
      }}
    >
      <div .style=${`width: ${widthOf(zoom.factor)}`}>
        <svg height=${height} role="img" aria-label="Critical path over time, by thread or task">
          ${lanes.map((_lane, at) => svg`<rect class="track" width="100%" y=${at * LANE + TOP} height=${BAR} rx="2" />`)}
          ${handOvers.map(
            ({ from, to, at }) =>
              svg`<line class="hand-over" x1="${100 * at}%" x2="${100 * at}%" y1=${from * LANE + LANE / 2} y2=${to * LANE + LANE / 2} />`,
          )}
          ${lanes.map((lane, at) => lane.pieces.map((piece) => drawPiece(piece, at, act)))}
        </svg>
        <span class="axis">${marks(zoom.factor).map((share) => drawMark(share, totalNs))}</span>
      </div>
    </div>
  </div>`;
}

/** Shares of the whole that the axis names: three where all of it is seen, as close to one another when it is wider. */
function marks(factor: number): number[] {
  const steps = 2 * Math.ceil(factor);
  return Array.from({ length: steps + 1 }, (_, step) => step / steps);
}

/** In the middle of its place; the first and the last stay within the lanes. */
function drawMark(share: number, totalNs: number): TemplateResult {
  const back = share > 0 && share < 1 ? 50 : 100 * share;
  return html`<span .style=${`left: ${100 * share}%; transform: translateX(-${back}%)`}>
    ${share > 0 ? duration(share * totalNs) : "0"}
  </span>`;
}

function drawPiece({ segment, from, work, to }: Piece, lane: number, act: LaneActions): SVGTemplateResult {
  const smallest = SMALLEST / act.zoom.factor;
  const y = lane * LANE + TOP;
  const part = (kind: string, begin: number, end: number): SVGTemplateResult | typeof nothing =>
    end > begin
      ? svg`<rect class=${kind} x="${100 * Math.min(begin, 1 - smallest)}%" y=${y} height=${BAR}
          width="${100 * Math.max(end - begin, smallest)}%" />`
      : nothing;
  return svg`<g
    class="piece ${segment.nodeId !== "" && act.selected.has(segment.nodeId) ? "selected" : ""}"
    @click=${() => {
      act.select(segment);
    }}
  >
    <title>${pieceTitle(segment)}</title>
    ${part("wait", from, work)} ${part("self", work, to)}
  </g>`;
}

function pieceTitle(segment: PathSegment): string {
  const wait = segment.waitNs > 0 ? `waiting ${duration(segment.waitNs)}` : "";
  return [
    shortLabel(segment.label),
    segment.selfNs > 0 ? `self ${duration(segment.selfNs)}` : "",
    wait && segment.waitFor ? `${wait} (${segment.waitFor})` : wait,
  ]
    .filter(Boolean)
    .join(" · ");
}
