/**
 * Draws the contents of the timeline's lanes: tiles, names on bars, gaps, arrows, and a frame around a call. Positions from the top left
 * of the lanes.
 *
 * Invariant: invisible parts cost nothing.
 */
import type { TimelineLane } from "../../../../shared/protocol";
import { shortLabel } from "../../../ui/text/format";
import { hueOf, inkOn } from "../../../ui/hue";
import { HEAD, type Lane, ROW, topOf } from "./lanes";
import { ticks, xOf } from "../../../ui/timeSpan";
import { BUCKETS, tileLength, tilesFor } from "../tiles/tiles";
import { lanesToRequest, type Box, fitted, type Scene } from "./scene";
import { cssColour } from "../../../ui/hue";
import type { TimelinePen } from "../../../ui/canvas/pen";
import { labelAlpha } from "../tiles/bitmaps";

const SMALLEST_NAME = 26;
/** Names of a frame at most. */
const MOST_NAMES = 600;

export function drawGrid(context: TimelinePen, scene: Scene, body: number): void {
  context.fillStyle = scene.colours.line;
  context.globalAlpha = 0.5;
  for (const tick of ticks(scene.span, body)) {
    context.fillRect(Math.round(xOf(tick.ns, scene.span, body)), scene.top, 1, scene.height);
  }
  context.globalAlpha = 1;
}

export function drawLane(context: TimelinePen, scene: Scene, lane: Lane, body: number): void {
  const { first, count } = tilesFor(scene.span, scene.scale);
  for (const block of lanesToRequest(lane)) {
    const [top, row] = lane.kind === "process" ? [lane.top + 3, HEAD - 6] : [lane.top + (block.depth ?? 0) * ROW, ROW];
    for (let number = first; number < first + count; number += 1) {
      drawTile(context, scene, { lane: block, number, top, row, body });
    }
    context.fillStyle = cssColour(scene.colours.ground);
    for (let depth = 1; depth <= (block.depths ?? 1); depth += 1) context.fillRect(0, top + depth * row - 1, body, 1);
  }
}

interface Place {
  lane: TimelineLane;
  number: number;
  top: number;
  row: number;
  body: number;
}

/** The tile, or what is there of wider or narrower ones. */
function drawTile(context: TimelinePen, scene: Scene, place: Place): void {
  const { scale } = scene;
  if (put(context, scene, place, scale, place.number)) return;
  for (let wider = scale + 1; wider <= scale + 12; wider += 1) {
    if (put(context, scene, place, wider, Math.floor(place.number / 2 ** (wider - scale)))) return;
  }
  for (let narrower = scale - 1; narrower >= Math.max(0, scale - 3); narrower -= 1) {
    const parts = 2 ** (scale - narrower);
    for (let part = 0; part < parts; part += 1) put(context, scene, place, narrower, place.number * parts + part);
  }
}

/** Draws the part of a picture that lies within the tile's place. */
function put(context: TimelinePen, scene: Scene, place: Place, scale: number, number: number): boolean {
  const picture = scene.picture(place.lane, scale, number);
  if (!picture) return false;
  const own = tileLength(scene.scale);
  const length = tileLength(scale);
  const from = Math.max(place.number * own, number * length, scene.span.from);
  const to = Math.min((place.number + 1) * own, (number + 1) * length, scene.span.to);
  if (to <= from) return true;
  const bucket = length / BUCKETS;
  const left = (from - number * length) / bucket;
  const right = (to - number * length) / bucket;
  const x = xOf(from, scene.span, place.body);
  const w = xOf(to, scene.span, place.body) - x;
  context.drawImage(picture, left, 0, right - left, picture.height, x, place.top, w, picture.height * place.row);
  return true;
}

/** Names on bars, where they are wide enough; bars of suspended calls are striped. */
export function drawNames(context: TimelinePen, scene: Scene, shown: readonly Lane[], body: number): void {
  const { first, count } = tilesFor(scene.span, scene.scale);
  let names = 0;
  for (const lane of shown) {
    if (lane.kind !== "strand") continue;
    for (const block of lanesToRequest(lane)) {
      const done = new Set<string>();
      for (let number = first; number < first + count; number += 1) {
        for (const bar of scene.tile(block, scene.scale, number)?.named ?? []) {
          const key = `${bar.row} ${bar.from}`;
          if (done.has(key) || bar.to <= scene.span.from || bar.from >= scene.span.to) continue;
          done.add(key);
          const left = Math.max(0, xOf(bar.from, scene.span, body));
          const right = Math.min(body, xOf(bar.to, scene.span, body));
          const top = lane.top + ((block.depth ?? 0) + bar.row) * ROW;
          if (bar.asleep) drawStripes(context, scene, { left, right, top });
          else {
            context.fillStyle = cssColour(scene.colours.ground);
            context.globalAlpha = 0.55;
            if (bar.from >= scene.span.from) context.fillRect(left, top, 1, ROW - 1);
            context.globalAlpha = 1;
          }
          if (right - left < SMALLEST_NAME || names > MOST_NAMES) continue;
          names += 1;
          const label = scene.names.labelOf(bar.site);
          const text = fitted(context, bar.asleep ? `${shortLabel(label)} waits` : shortLabel(label), right - left - 8);
          context.globalAlpha = labelAlpha(scene.names.isLit(bar.site));
          context.fillStyle = bar.asleep
            ? scene.colours.quiet
            : scene.names.isLit(bar.site)
              ? inkOn(scene.colours.hues[hueOf(label)] ?? [0, 0, 0])
              : scene.colours.text;
          context.fillText(text, left + 4, top + ROW / 2);
          context.globalAlpha = 1;
        }
      }
    }
  }
}

function drawStripes(
  context: TimelinePen,
  scene: Scene,
  { left, right, top }: { left: number; right: number; top: number },
): void {
  context.save();
  context.beginPath();
  context.rect(left, top, right - left, ROW - 1);
  context.clip();
  context.strokeStyle = scene.colours.quiet;
  context.globalAlpha = 0.35;
  context.lineWidth = 1;
  context.beginPath();
  for (let x = left - (left % 8) - ROW; x < right; x += 8) {
    context.moveTo(x, top + ROW);
    context.lineTo(x + ROW, top);
  }
  context.stroke();
  context.restore();
}

export function drawGaps(context: TimelinePen, scene: Scene, body: number): void {
  for (const { strand, missing } of scene.gaps) {
    const lane = scene.lanes.find((one) => one.kind === "strand" && one.strand.strand === strand);
    if (lane?.kind !== "strand" || missing.toNs < scene.span.from || missing.fromNs > scene.span.to) continue;
    const left = Math.max(-2, xOf(missing.fromNs, scene.span, body));
    const right = Math.min(body + 2, Math.max(xOf(missing.toNs, scene.span, body), left + 3));
    const height = Math.max(lane.rows, 1) * ROW;
    context.save();
    context.beginPath();
    context.rect(left, lane.top, right - left, height);
    context.clip();
    context.fillStyle = context.strokeStyle = scene.colours.gap;
    context.globalAlpha = 0.16;
    context.fillRect(left, lane.top, right - left, height);
    context.globalAlpha = 0.8;
    context.beginPath();
    for (let x = left - height; x < right; x += 7) {
      context.moveTo(x, lane.top);
      context.lineTo(x + height, lane.top + height);
    }
    context.stroke();
    context.restore();
  }
}

export function drawArrows(context: TimelinePen, scene: Scene, body: number): void {
  context.strokeStyle = context.fillStyle = scene.colours.arrow;
  context.lineWidth = 1.2;
  context.globalAlpha = scene.arrows.length > 60 ? 0.25 : 0.8;
  for (const arrow of scene.arrows) {
    if (Math.max(arrow.sourceNs, arrow.targetNs) < scene.span.from) continue;
    if (Math.min(arrow.sourceNs, arrow.targetNs) > scene.span.to) continue;
    const source = scene.strands.get(arrow.sourceStrand);
    const target = scene.strands.get(arrow.targetStrand);
    const top = source && topOf(scene.lanes, source, arrow.sourceDepth);
    const bottom = target && topOf(scene.lanes, target, arrow.targetDepth);
    if (top === undefined || bottom === undefined || top === bottom) continue;
    const y = top + ROW / 2;
    const end = bottom + ROW / 2;
    if (Math.max(y, end) < scene.top || Math.min(y, end) > scene.top + scene.height) continue;
    // Far outside, a curve would be flat anyway.
    const x = clamp(xOf(arrow.sourceNs, scene.span, body), body);
    const to = clamp(xOf(arrow.targetNs, scene.span, body), body);
    const bend = Math.max(12, Math.min(60, Math.abs(to - x) / 2));
    context.beginPath();
    context.moveTo(x, y);
    context.bezierCurveTo(x + bend, y, to - bend, end, to, end);
    context.stroke();
    context.beginPath();
    context.moveTo(to, end);
    context.lineTo(to - 6, end - 3);
    context.lineTo(to - 6, end + 3);
    context.fill();
  }
  context.globalAlpha = 1;
}

function clamp(x: number, body: number): number {
  return Math.min(Math.max(x, -body), 2 * body);
}

export function drawNode(
  context: TimelinePen,
  scene: Scene,
  node: Box,
  { colour, thick, body }: { colour: string; thick: number; body: number },
): void {
  const strand = scene.strands.get(node.strand);
  const lane = scene.lanes.find((one) => one.kind === "strand" && one.strand.strand === strand?.strand);
  if (lane?.kind !== "strand" || node.depth >= lane.rows) return;
  const left = Math.max(-4, xOf(node.from, scene.span, body));
  const right = Math.min(body + 4, Math.max(xOf(node.to, scene.span, body), left + 3));
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(left + 0.5, lane.top + node.depth * ROW - 0.5, right - left - 1, ROW);
}
