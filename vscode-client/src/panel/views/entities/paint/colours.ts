/**
 * The colours of entities: the theme's colours, and a scale for the load.
 *
 * Invariant: the scale goes monotonically from the grey near the background to the opposite grey, so it is readable without colour
 * vision.
 */
import { type Rgb } from "../../../ui/hue";
import { cssColour } from "../../../ui/hue";
import { themeColours as themeOf, type ThemeColours as Theme } from "../../../ui/canvas/themeColours";

export const SHADES = 9;

export interface EntityColours extends Theme {
  dark: boolean;
  /** From idle to busiest, `SHADES` of them. */
  load: readonly string[];
  /** Of a name on each of them. */
  onLoad: readonly string[];
  /** Of communication. */
  line: string;
  /** Of lines that are not used at the moment. */
  known: string;
  edge: string;
  paper: string;
  selected: string;
}

const LIGHT: readonly Rgb[] = [
  [232, 236, 241], [205, 228, 224], [150, 206, 205], [88, 172, 193], [44, 131, 176], [31, 92, 152], [20, 58, 110], [10, 32, 72],
]; // prettier-ignore
const DARK: readonly Rgb[] = [
  [52, 59, 69], [42, 79, 108], [34, 109, 143], [41, 146, 160], [85, 182, 158], [150, 212, 150], [212, 233, 152], [255, 250, 190],
]; // prettier-ignore

export function entityColours(body: HTMLElement): EntityColours {
  const theme = themeOf(body);
  const dark = lightness(theme.ground) < 128;
  const shades = shadesOf(dark);
  const strong = body.classList.contains("vscode-high-contrast") || matchMedia("(prefers-contrast: more)").matches;
  return {
    ...theme,
    dark,
    load: shades.map(cssColour),
    onLoad: shades.map(inkOn),
    line: dark ? "#ffb454" : "#c2540a",
    known: strong ? (dark ? "#9aa5b4" : "#5d6876") : dark ? "#5a6573" : "#b4bcc7",
    edge: strong ? theme.text : dark ? "#8e99a8" : "#5d6876",
    paper: cssColour(theme.ground),
    selected: theme.focus,
  };
}

/** From idle to busiest. */
export function shadesOf(dark: boolean): Rgb[] {
  return Array.from({ length: SHADES }, (_, at) => between(dark ? DARK : LIGHT, at / (SHADES - 1)));
}

/** Black or white, whichever is read better on a colour: WCAG's contrast is above 4.5 then. */
export function inkOn(colour: Rgb): string {
  const [r = 0, g = 0, b = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179 ? "#ffffff" : "#000000";
}

export function lightness([r, g, b]: Rgb): number {
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function between(scale: readonly Rgb[], share: number): Rgb {
  const at = share * (scale.length - 1);
  const low = Math.min(scale.length - 2, Math.floor(at));
  const [a, b] = [scale[low] ?? [0, 0, 0], scale[low + 1] ?? [0, 0, 0]];
  const part = at - low;
  return [a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part, a[2] + (b[2] - a[2]) * part];
}
