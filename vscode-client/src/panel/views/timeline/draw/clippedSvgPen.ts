/**
 * A pen that writes SVG and supports the other operations of the timeline's canvas: translate, clip and draw images.
 *
 * Invariant: `restore` closes every group that was opened since the matching `save`.
 */
import { SvgPen } from "../../../ui/canvas/svgPen";
import type { TimelinePen } from "../../../ui/canvas/pen";

type Style = Pick<SvgPen, "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textBaseline">;

export class ClippedSvgPen extends SvgPen implements TimelinePen {
  /** Bitmaps have sharp edges in any case. */
  imageSmoothingEnabled = false;
  private readonly saved: { style: Style; groups: number }[] = [];
  private groups = 0;
  private clips = 0;

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textBaseline } = this;
    this.saved.push({
      style: { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textBaseline },
      groups: this.groups,
    });
    this.groups = 0;
  }

  restore(): void {
    const before = this.saved.pop();
    if (!before) return;
    this.parts.push("</g>".repeat(this.groups));
    this.groups = before.groups;
    Object.assign(this, before.style);
  }

  translate(x: number, y: number): void {
    this.open(`transform="translate(${x} ${y})"`);
  }

  clip(): void {
    this.clips += 1;
    const id = `clip${this.clips}`;
    this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath>`);
    this.open(`clip-path="url(#${id})"`);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.roundRect(x, y, width, height, 0);
  }

  strokeRect(x: number, y: number, width: number, height: number): void {
    this.beginPath();
    this.rect(x, y, width, height);
    this.stroke();
  }

  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.path += `C${[ax, ay, bx, by, x, y].map((value) => Math.round(value * 100) / 100).join(" ")}`;
  }

  /** The part of a picture from (`left`, `top`) on, `across` times `down` px of it, in the place that is given by the last four. */
  drawImage(image: CanvasImageSource, ...numbers: number[]): void {
    const [left = 0, top = 0, across = 0, down = 0, x = 0, y = 0, width = 0, height = 0] = numbers;
    if (!(image instanceof HTMLCanvasElement) || width <= 0 || height <= 0) return;
    // Neighbours share an edge at a whole px: between two that fade out at it the ground would be seen.
    const [from, to] = [Math.round(x), Math.round(x + width)];
    this.parts.push(
      `<svg x="${from}" y="${y}" width="${to - from}" height="${height}" viewBox="${left} ${top} ${across} ${down}" preserveAspectRatio="none">`,
      `<image href="${image.toDataURL()}" width="${image.width}" height="${image.height}" style="image-rendering: pixelated"/></svg>`,
    );
  }

  private open(attribute: string): void {
    this.parts.push(`<g ${attribute}>`);
    this.groups += 1;
  }
}
