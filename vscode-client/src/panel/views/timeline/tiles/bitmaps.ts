/**
 * Tiles as bitmaps: a pixel per bucket and row, stretched to the tile's area on the screen.
 *
 * Invariant: a frame paints only new tiles; a bitmap with outdated colours is repainted first.
 */
import type { ThemeColours } from "../../../ui/canvas/themeColours";
import { hueOf } from "../../../ui/hue";
import { ASLEEP, BUCKETS, type Tile } from "./tiles";

/** How much of a colour is left where the search says something else. */
const DIMMED = 0.16;
const DIMMED_LABEL = 0.5;
/** The least that is seen of a bucket in which there is anything. */
const LEAST = 0.32;
const SUSPENDED = 0.24;

export interface Names {
  labelOf(site: number): string;
  /** Is it what is searched for, or nothing is? */
  isLit(site: number): boolean;
}

export function bitmapOf(tile: Tile, colours: ThemeColours, names: Names): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = BUCKETS;
  canvas.height = tile.rows;
  const context = canvas.getContext("2d");
  if (!context) return canvas;
  const picture = context.createImageData(BUCKETS, tile.rows);
  const pixels = new Uint32Array(picture.data.buffer);
  const palette = tile.sites.map((site) => {
    const [r, g, b] = colours.hues[hueOf(names.labelOf(site))] ?? [128, 128, 128];
    return {
      colour: (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r),
      part: names.isLit(site) ? 1 : DIMMED,
    };
  });
  for (let at = 0; at < pixels.length; at += 1) {
    const cell = tile.cells[at] ?? 0;
    if (cell === 0) continue;
    const of = palette[(cell & ~ASLEEP) - 1];
    if (!of) continue;
    const filled = LEAST + ((1 - LEAST) * (tile.covers[at] ?? 0)) / 255;
    const alpha = filled * of.part * (cell & ASLEEP ? SUSPENDED : 1);
    // Little-endian, as every machine that has a browser is.
    pixels[at] = ((Math.round(alpha * 255) << 24) | of.colour) >>> 0;
  }
  context.putImageData(picture, 0, 0);
  return canvas;
}

export function labelAlpha(lit: boolean): number {
  return lit ? 1 : DIMMED_LABEL;
}
