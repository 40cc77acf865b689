/**
 * Draws a frame of the timeline: axis, lanes, names of threads and tasks, the measured interval, and the overview of the run below.
 *
 * Invariant: the time of a frame depends only on the visible part; it sends no request and changes no state.
 */
import { duration } from "../../../ui/text/format";
import { inkOn } from "../../../ui/hue";
import { HEAD, type Lane, ROW, seen } from "./lanes";
import { lengthOf, nsAt, type Span, ticks, xOf } from "../../../ui/timeSpan";
import { drawArrows, drawNode, drawGaps, drawGrid, drawLane, drawNames } from "./bars";
import { AXIS, fitted, FONT, type Scene } from "./scene";
import { cssColour } from "../../../ui/hue";
import { fontFamily } from "../../../ui/canvas/font";
import type { TimelinePen } from "../../../ui/canvas/pen";
import { type ThemeColours, parseRgb } from "../../../ui/canvas/themeColours";

export function drawTimeline(context: TimelinePen, scene: Scene): void {
  const { width, height, gutter, colours } = scene;
  const body = width - gutter;
  context.fillStyle = cssColour(colours.ground);
  context.fillRect(0, 0, width, height);
  context.font = `${FONT} ${fontFamily()}`;
  context.textBaseline = "middle";
  context.imageSmoothingEnabled = false;
  const shown = seen(scene.lanes, scene.top, height - AXIS);
  context.save();
  context.beginPath();
  context.rect(gutter, AXIS, body, height - AXIS);
  context.clip();
  context.translate(gutter, AXIS - scene.top);
  drawGrid(context, scene, body);
  for (const lane of shown) drawLane(context, scene, lane, body);
  drawNames(context, scene, shown, body);
  drawGaps(context, scene, body);
  drawArrows(context, scene, body);
  for (const [node, colour, thick] of [
    [scene.hovered, colours.text, 1],
    [scene.selected, colours.focus, 2],
  ] as const) {
    if (node) drawNode(context, scene, node, { colour, thick, body });
  }
  context.restore();
  drawGutter(context, scene, shown);
  drawAxis(context, scene, body);
  if (scene.brush) drawBrush(context, scene, scene.brush, body);
  if (scene.focused) {
    context.strokeStyle = colours.focus;
    context.lineWidth = 2;
    context.strokeRect(1, 1, width - 2, height - 2);
  }
}

function drawGutter(context: TimelinePen, scene: Scene, shown: readonly Lane[]): void {
  const { gutter, colours } = scene;
  context.save();
  context.fillStyle = colours.raised;
  context.fillRect(0, AXIS, gutter, scene.height - AXIS);
  context.beginPath();
  context.rect(0, AXIS, gutter - 6, scene.height - AXIS);
  context.clip();
  context.translate(0, AXIS - scene.top);
  for (const lane of shown) {
    const isProcess = lane.kind === "process";
    const text = isProcess ? lane.process.name : lane.strand.name;
    const y = lane.top + (isProcess ? HEAD : ROW) / 2;
    context.fillStyle = colours.quiet;
    const depth = isProcess ? 2 : lane.strand.depth;
    if (depth > 1) drawFold(context, isProcess ? 6 : 16, y, lane.folded);
    context.fillStyle = isProcess ? colours.text : colours.quiet;
    context.font = `${isProcess ? "600 " : ""}${FONT} ${fontFamily()}`;
    const x = isProcess ? 18 : 28;
    const more = isProcess && lane.folded ? ` · ${lane.process.strands}` : "";
    const room = gutter - x - 10 - (more ? context.measureText(more).width : 0);
    context.fillText(fitted(context, text, room) + more, x, y);
  }
  context.restore();
  context.fillStyle = colours.line;
  context.fillRect(gutter - 1, AXIS, 1, scene.height - AXIS);
  context.save();
  context.beginPath();
  context.rect(0, AXIS, scene.width, scene.height - AXIS);
  context.clip();
  for (const lane of shown) {
    if (lane.kind === "process") context.fillRect(0, AXIS + lane.top - scene.top, scene.width, 1);
  }
  context.restore();
}

function drawFold(context: TimelinePen, x: number, y: number, folded: boolean): void {
  context.beginPath();
  if (folded) {
    context.moveTo(x + 1, y - 4);
    context.lineTo(x + 6, y);
    context.lineTo(x + 1, y + 4);
  } else {
    context.moveTo(x, y - 2);
    context.lineTo(x + 8, y - 2);
    context.lineTo(x + 4, y + 3);
  }
  context.fill();
}

function drawAxis(context: TimelinePen, scene: Scene, body: number): void {
  const { colours, gutter } = scene;
  context.fillStyle = colours.raised;
  context.fillRect(0, 0, scene.width, AXIS);
  context.fillStyle = colours.line;
  context.fillRect(0, AXIS - 1, scene.width, 1);
  context.fillStyle = colours.quiet;
  context.fillText(fitted(context, duration(lengthOf(scene.span)), gutter - 12), 6, AXIS / 2);
  for (const tick of ticks(scene.span, body)) {
    const x = gutter + Math.round(xOf(tick.ns, scene.span, body));
    context.fillRect(x, AXIS - 6, 1, 6);
    const width = context.measureText(tick.label).width;
    if (x + 4 + width < scene.width) context.fillText(tick.label, x + 4, AXIS / 2);
  }
}

function drawBrush(context: TimelinePen, scene: Scene, brush: Span, body: number): void {
  const { gutter, colours } = scene;
  const left = gutter + Math.max(0, xOf(brush.from, scene.span, body));
  const right = gutter + Math.min(body, xOf(brush.to, scene.span, body));
  if (right < gutter || left > scene.width) return;
  context.fillStyle = colours.focus;
  context.globalAlpha = 0.14;
  context.fillRect(left, AXIS, right - left, scene.height - AXIS);
  context.globalAlpha = 1;
  context.fillRect(left, 0, 1, scene.height);
  context.fillRect(right, 0, 1, scene.height);
  const text = duration(lengthOf(brush));
  const width = context.measureText(text).width + 10;
  const x = Math.max(gutter, Math.min((left + right - width) / 2, scene.width - width));
  context.fillRect(x, 3, width, AXIS - 7);
  context.fillStyle = inkOn(parseRgb(colours.focus));
  context.fillText(text, x + 5, AXIS / 2);
}

/** The overview of the whole run with the visible part: the number of working threads and tasks over time. */
export function drawOverview(
  context: TimelinePen,
  size: { width: number; height: number; gutter: number },
  of: { all: Span; span: Span; begin: number; bucket: number; activity: readonly number[]; colours: ThemeColours },
): void {
  const { width, height, gutter } = size;
  const { colours } = of;
  const body = width - gutter;
  context.fillStyle = colours.raised;
  context.fillRect(0, 0, width, height);
  const most = Math.max(...of.activity, 1e-9);
  context.save();
  context.translate(gutter, 0);
  context.fillStyle = cssColour(colours.hues[0] ?? [0, 114, 178]);
  of.activity.forEach((value, place) => {
    const left = xOf(of.begin + place * of.bucket, of.all, body);
    const right = xOf(of.begin + (place + 1) * of.bucket, of.all, body);
    const tall = value > 0 ? Math.max(1, (value / most) * (height - 6)) : 0;
    context.fillRect(left, height - tall, Math.max(right - left, 1), tall);
  });
  const left = Math.max(0, xOf(of.span.from, of.all, body));
  const right = Math.min(body, Math.max(xOf(of.span.to, of.all, body), left + 3));
  context.fillStyle = cssColour(colours.ground);
  context.globalAlpha = 0.62;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, body - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = colours.focus;
  context.lineWidth = 1.5;
  context.strokeRect(left + 0.75, 0.75, right - left - 1.5, height - 1.5);
  context.restore();
  context.font = `${FONT} ${fontFamily()}`;
  context.textBaseline = "middle";
  context.fillStyle = colours.quiet;
  context.fillText(fitted(context, "the whole run", gutter - 12), 6, height / 2);
}

/** The time at a place on the canvas. */
export function timeAt(scene: Scene, x: number): number {
  return nsAt(x - scene.gutter, scene.span, scene.width - scene.gutter);
}
