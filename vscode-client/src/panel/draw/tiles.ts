/**
 * Tiles as bitmaps: a pixel per bucket and row, to be stretched over its place on the screen.
 *
 * Invariant: whoever draws a frame paints no more than the tiles that are new; a picture of other colours is painted anew first.
 */
import { HUES, hueOf, mixed, type Rgb, SHADES } from "../model/hue";
import { ASLEEP, BUCKETS, type Tile } from "../model/tiles";

export interface Colours {
  /** By `hueOf`. */
  hues: readonly Rgb[];
  ground: Rgb;
  text: string;
  quiet: string;
  line: string;
  raised: string;
  focus: string;
  arrow: string;
  gap: string;
  match: string;
}

/** What the theme says at the moment. */
export function coloursOf(body: HTMLElement): Colours {
  const style = getComputedStyle(body);
  const probe = document.createElement("canvas").getContext("2d");
  const css = (name: string, otherwise: string): string => {
    if (!probe) return otherwise;
    probe.fillStyle = otherwise;
    probe.fillStyle = style.getPropertyValue(name).trim() || otherwise;
    return probe.fillStyle;
  };
  const ground = rgb(css("--vscode-editor-background", "#ffffff"));
  const hues: Rgb[] = [];
  for (let shade = 0; shade < SHADES; shade += 1) {
    for (let hue = 0; hue < HUES; hue += 1) hues.push(mixed(rgb(css(`--p${hue}`, "#888888")), ground, shade * 0.42));
  }
  return {
    hues,
    ground,
    text: css("--vscode-foreground", "#2b2f36"),
    quiet: css("--vscode-descriptionForeground", "#5c6470"),
    line: css("--vscode-panel-border", css("--vscode-widget-border", "#80808059")),
    raised: css("--vscode-sideBar-background", css("--vscode-editor-background", "#ffffff")),
    focus: css("--vscode-focusBorder", "#0b6bcb"),
    arrow: css("--chain", "#0b6bcb"),
    gap: css("--gap", "#8f1166"),
    match: css("--match", "#ffd84d"),
  };
}

export function rgb(css: string): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})/i.exec(css);
  if (hex) return [1, 2, 3].map((at) => Number.parseInt(hex[at] ?? "0", 16)) as unknown as Rgb;
  const [r = 128, g = 128, b = 128] = (css.match(/\d+(\.\d+)?/g) ?? []).map(Number);
  return [r, g, b];
}

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

export function bitmapOf(tile: Tile, colours: Colours, names: Names): HTMLCanvasElement {
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
