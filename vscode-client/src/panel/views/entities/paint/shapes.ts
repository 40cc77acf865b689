/** Paints the shapes that all drawings share: entities, names, lines and the selection. */
import { placeNames } from "../layouts/namePlaces";
import type { Talk } from "../model/activity";
import { SHADES } from "./colours";
import type { Pen } from "../../../ui/canvas/pen";
import type { Frame, Seen } from "../drawings/contract";

const ROUND = 2 * Math.PI;
const DIMMED = 0.22;
const NAME_PX = 11;
/** Circles smaller than this have names only where they are asked for. */
const NAMED_FROM = 2.2;
/** Of more lines each is thinner and fainter, so that a picture of many is none of a patch. */
const MANY_LINES = 250;
/** Circles are not drawn smaller than this, however many there are. */
const LEAST_RADIUS = 1.5;

export function isHolder({ shape: { box } }: Seen): boolean {
  return box.holds > 0;
}

export function isLit(frame: Frame, entity: number): boolean {
  return frame.lit?.has(entity) ?? true;
}

/** Where a line between two leaves the one and meets the other: their borders, where these are apart. */
export function ends(a: Seen, b: Seen): [number, number, number, number] {
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  // Ten times as fast as `Math.hypot`, whose care for very large numbers no screen needs.
  const far = Math.sqrt(dx * dx + dy * dy);
  if (far <= a.radius + b.radius + 1) return [a.x, a.y, b.x, b.y];
  const [from, to] = [a.radius / far, b.radius / far];
  return [a.x + dx * from, a.y + dy * from, b.x - dx * to, b.y - dy * to];
}

/** Adds the line between two that talk to the pen's path; false where one of them is not seen. */
export function tracedLine(pen: Pen, { byId }: Frame, { source, target }: Pick<Talk, "source" | "target">): boolean {
  const [a, b] = [byId.get(source), byId.get(target)];
  if (!a || !b) return false;
  const [x, y, toX, toY] = ends(a, b);
  pen.moveTo(x, y);
  pen.lineTo(toX, toY);
  return true;
}

/** Containers as `outlined` traces them, what is in them, and names over all of it. */
export function paintNested(frame: Frame, outlined: (pen: Pen, container: Seen) => void): void {
  const { ground, front, seen } = frame;
  if (ground) for (const one of seen) if (holdsSeen(frame, one)) paintContainer(ground, frame, one, outlined);
  paintEntities(
    front,
    frame,
    seen.filter((one) => !holdsSeen(frame, one)),
  );
  paintSelected(front, frame);
  paintNames(front, frame);
}

function paintContainer(pen: Pen, { colours }: Frame, one: Seen, outlined: (pen: Pen, container: Seen) => void): void {
  const { box, depth, alpha } = one.shape;
  pen.beginPath();
  outlined(pen, one);
  pen.fillStyle = colours.raised;
  // Each has a contrast to its container.
  pen.globalAlpha = alpha * (depth % 2 ? 0.55 : 1);
  pen.fill();
  pen.globalAlpha = alpha;
  pen.strokeStyle = colours.known;
  pen.lineWidth = 1.25;
  if (box.presence !== "there") pen.setLineDash([5, 4]);
  pen.stroke();
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

/** Width and strength of each of this many lines, from 1 for a few. */
export function shareOf(count: number): number {
  return count > MANY_LINES ? Math.sqrt(MANY_LINES / count) : 1;
}

/** Some of all lines of the run, thin. */
export function paintKnown(pen: Pen, frame: Frame, talks: Iterable<Talk>, count: number): void {
  pen.beginPath();
  for (const talk of talks) tracedLine(pen, frame, talk);
  pen.strokeStyle = frame.colours.known;
  pen.lineWidth = Math.max(0.5, shareOf(count));
  pen.globalAlpha = Math.max(0.25, 0.8 * shareOf(count));
  pen.stroke();
  pen.globalAlpha = 1;
}

/** Those that hold nothing that is seen: circles, or squares of what they hold, by how busy they are. */
export function paintEntities(pen: Pen, frame: Frame, leaves: readonly Seen[]): void {
  const { colours } = frame;
  const shades = new Map<number, Seen[]>();
  const special: Seen[] = [];
  for (const one of leaves) {
    const { box, alpha } = one.shape;
    if (alpha < 0.98 || box.presence !== "there" || !isLit(frame, box.entity)) {
      special.push(one);
      continue;
    }
    const shade = shadeOf(frame.load(box.entity));
    const list = shades.get(shade);
    if (list) list.push(one);
    else shades.set(shade, [one]);
  }
  pen.strokeStyle = colours.edge;
  pen.lineWidth = 1;
  for (const [shade, list] of shades) {
    pen.beginPath();
    for (const one of list) outline(pen, one);
    pen.fillStyle = colours.load[shade] ?? colours.quiet;
    pen.fill();
    pen.stroke();
  }
  for (const one of special) {
    const { box, alpha } = one.shape;
    pen.globalAlpha = alpha * (isLit(frame, box.entity) ? 1 : DIMMED);
    pen.beginPath();
    outline(pen, one);
    pen.fillStyle = box.presence === "gone" ? colours.paper : (colours.load[shadeOf(frame.load(box.entity))] ?? "");
    pen.fill();
    if (box.presence !== "there") pen.setLineDash([3, 2.5]);
    pen.stroke();
    pen.setLineDash([]);
  }
  pen.globalAlpha = 1;
}

export function shadeOf(load: number): number {
  return Math.max(0, Math.min(SHADES - 1, Math.round(load * (SHADES - 1))));
}

function outline(pen: Pen, one: Seen): void {
  const { x, y, radius } = one;
  if (isHolder(one)) {
    const half = radius * 0.86;
    pen.roundRect(x - half, y - half, 2 * half, 2 * half, Math.min(5, half * 0.35));
    return;
  }
  const shown = Math.max(LEAST_RADIUS, radius);
  pen.moveTo(x + shown, y);
  pen.arc(x, y, shown, 0, ROUND);
}

/** What is selected, what the mouse is over, and the lines of the one that is selected. */
export function paintSelected(pen: Pen, frame: Frame): void {
  const { colours, byId, selected, hovered } = frame;
  const chosen = byId.get(selected);
  if (chosen) {
    pen.beginPath();
    for (const talk of frame.talks) {
      if (talk.source === selected || talk.target === selected) tracedLine(pen, frame, talk);
    }
    // Told from whatever they run over.
    for (const [colour, width, alpha] of [
      [colours.paper, 5, 0.8],
      [colours.selected, 2, 1],
    ] as const) {
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.globalAlpha = alpha;
      pen.stroke();
    }
  }
  for (const [one, width] of [
    [byId.get(hovered), 1.5],
    [chosen, 3],
  ] as const) {
    // prettier-ignore
    if (!one) continue;
    pen.strokeStyle = colours.selected;
    pen.lineWidth = width;
    pen.beginPath();
    const apart = { ...one, radius: one.radius + 2 + width / 2 };
    outline(pen, apart);
    pen.stroke();
  }
}

/** Names where they have room; those of what is selected, searched for or large go first. */
export function paintNames(pen: Pen, frame: Frame, all: readonly Seen[] = frame.seen): void {
  const { colours, selected, hovered } = frame;
  const weight = (one: Seen): number => {
    const { entity } = one.shape.box;
    if (entity === hovered) return 5;
    if (entity === selected) return 4;
    if (frame.lit?.has(entity)) return 3;
    return holdsSeen(frame, one) ? 2 : frame.load(entity);
  };
  const shown = all.filter((one) => one.shape.alpha > 0.5 && isLit(frame, one.shape.box.entity));
  const weighed = shown.map((one) => ({ one, weight: weight(one) }));
  weighed.sort(
    (a, b) => b.weight - a.weight || b.one.radius - a.one.radius || a.one.shape.box.entity - b.one.shape.box.entity,
  );
  const texts = new Map<number, { text: string; strong: boolean }>();
  const named = weighed.flatMap(({ one, weight: of }) => {
    const { box } = one.shape;
    const strong = holdsSeen(frame, one);
    if (!strong && one.radius < NAMED_FROM && of < 3) return [];
    const text = nameOf(one, frame);
    texts.set(box.entity, { text, strong });
    pen.font = fontOf(frame, strong);
    const width = widthOf(pen, text, strong) + 4;
    const { x, y, radius } = one;
    return [{ id: box.entity, x, y, radius, width, height: NAME_PX + 4, holds: strong, must: of >= 4 }];
  });
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.lineJoin = "round";
  for (const { id, x, y, inside } of placeNames(named, frame.width, frame.height)) {
    const { text, strong } = texts.get(id) ?? { text: "", strong: false };
    pen.font = fontOf(frame, strong);
    const ink = inside ? inkIn(frame, id) : undefined;
    if (ink === undefined) {
      // A halo, so that lines below it leave the name readable.
      pen.strokeStyle = colours.paper;
      pen.lineWidth = 3;
      pen.strokeText(text, x + 2, y + 0.5);
    }
    pen.fillStyle = ink ?? colours.text;
    pen.fillText(text, x + 2, y + 0.5);
  }
}

/** Of a name within a circle that is filled by how busy it is, wholly there. */
function inkIn({ byId, colours, load }: Frame, entity: number): string | undefined {
  const shape = byId.get(entity)?.shape;
  const isFilled = shape !== undefined && shape.alpha >= 0.98 && shape.box.presence !== "gone";
  return isFilled ? colours.onLoad[shadeOf(load(entity))] : undefined;
}

/** Is any of what it holds drawn in it? */
export function holdsSeen(frame: Frame, { shape: { box } }: Seen): boolean {
  return box.holds > 0 && frame.holders.has(box.entity);
}

function nameOf(one: Seen, frame: Frame): string {
  const { name, hidden, holds } = one.shape.box;
  const short = name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
  if (hidden > 0 && holdsSeen(frame, one)) return `${short} · ${hidden} more`;
  return holds > 0 && !holdsSeen(frame, one) ? `${short} · ${holds}` : short;
}

const LONGEST = 28;

function fontOf({ font }: Frame, strong: boolean): string {
  return `${strong ? "600" : "400"} ${NAME_PX}px ${font}`;
}

const widths = new Map<string, number>();

function widthOf(pen: Pen, text: string, strong: boolean): number {
  const key = `${strong ? "1" : "0"}${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 5000) widths.clear();
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}
