/**
 * A pen that writes SVG instead of painting, for copying a canvas as a drawing.
 *
 * Invariant: the pen draws the same as the context of a canvas, within the interface `Pen`.
 */
import type { Pen } from "./pen";

export class SvgPen implements Pen {
  fillStyle = "#000";
  strokeStyle = "#000";
  lineWidth = 1;
  lineCap: CanvasLineCap = "butt";
  lineJoin: CanvasLineJoin = "miter";
  globalAlpha = 1;
  font = "11px sans-serif";
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  protected readonly parts: string[] = [];
  protected path = "";
  private dash = "";
  private readonly measure = document.createElement("canvas").getContext("2d");

  beginPath(): void {
    this.path = "";
  }

  closePath(): void {
    this.path += "Z";
  }

  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${short(x)} ${short(y)}`;
  }

  quadraticCurveTo(cx: number, cy: number, x: number, y: number): void {
    this.path += `Q${short(cx)} ${short(cy)} ${short(x)} ${short(y)}`;
  }

  /** A whole circle is two arcs: one from a point to itself is nothing. */
  arc(x: number, y: number, radius: number, from: number, to: number): void {
    const at = (angle: number): string =>
      `${short(x + radius * Math.cos(angle))} ${short(y + radius * Math.sin(angle))}`;
    const half = (from + to) / 2;
    const start = this.path === "" || to - from >= 2 * Math.PI - 1e-6 ? "M" : "L";
    const arcs = [half, to].map((angle) => `A${short(radius)} ${short(radius)} 0 0 1 ${at(angle)}`);
    this.path += `${start}${at(from)}${arcs.join("")}`;
  }

  roundRect(
    x: number,
    y: number,
    width: number,
    height: number,
    radii?: number | DOMPointInit | Iterable<number | DOMPointInit>,
  ): void {
    const most = Math.min(width, height) / 2;
    const r = Math.min(typeof radii === "number" ? radii : 0, most);
    const [right, bottom] = [x + width, y + height];
    this.moveTo(x + r, y);
    this.lineTo(right - r, y);
    this.quadraticCurveTo(right, y, right, y + r);
    this.lineTo(right, bottom - r);
    this.quadraticCurveTo(right, bottom, right - r, bottom);
    this.lineTo(x + r, bottom);
    this.quadraticCurveTo(x, bottom, x, bottom - r);
    this.lineTo(x, y + r);
    this.quadraticCurveTo(x, y, x + r, y);
    this.closePath();
  }

  fill(): void {
    if (this.path) this.parts.push(`<path d="${this.path}" fill="${this.fillStyle}"${this.alpha()}/>`);
  }

  stroke(): void {
    if (!this.path) return;
    const { strokeStyle, lineWidth, lineCap, lineJoin } = this;
    const line = `stroke="${strokeStyle}" stroke-width="${lineWidth}" stroke-linecap="${lineCap}" stroke-linejoin="${lineJoin}"`;
    this.parts.push(`<path d="${this.path}" fill="none" ${line}${this.dash}${this.alpha()}/>`);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}"`;
    this.parts.push(`<rect ${place} fill="${this.fillStyle}"${this.alpha()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    this.text(text, x, y, `fill="${this.fillStyle}"`);
  }

  strokeText(text: string, x: number, y: number): void {
    this.text(
      text,
      x,
      y,
      `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}" stroke-linejoin="round"`,
    );
  }

  measureText(text: string): TextMetrics {
    if (!this.measure) throw new Error("this browser measures no text");
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  setLineDash(lengths: Iterable<number>): void {
    const all = [...lengths];
    this.dash = all.length ? ` stroke-dasharray="${all.join(" ")}"` : "";
  }

  /** Several layers as one file, the lowest first. */
  static file(layers: readonly SvgPen[], width: number, height: number, ground: string): string {
    const [w, h] = [Math.ceil(width), Math.ceil(height)];
    const all = layers.flatMap(({ parts }) => parts).join("");
    const size = `width="${w}" height="${h}" viewBox="0 0 ${w} ${h}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><rect width="100%" height="100%" fill="${ground}"/>${all}</svg>`;
  }

  private text(text: string, x: number, y: number, how: string): void {
    const anchor = { center: "middle", right: "end", end: "end", left: "start", start: "start" }[this.textAlign];
    const base = this.textBaseline === "middle" ? "central" : "alphabetic";
    const [, weight = "400", size = "11px", family = "sans-serif"] = /^(?:(\d+) )?(\S+) (.*)$/.exec(this.font) ?? [];
    const font = `font-weight="${weight}" font-size="${size}" font-family="${escaped(family)}"`;
    this.parts.push(
      `<text x="${short(x)}" y="${short(y)}" ${font} text-anchor="${anchor}" dominant-baseline="${base}" ${how}${this.alpha()}>${escaped(text)}</text>`,
    );
  }

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : "";
  }
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
