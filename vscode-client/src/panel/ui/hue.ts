/**
 * A colour per function, the same for the same name in every picture.
 *
 * Invariant: colour is never the only sign, because there are more functions than colours: bars have names, other shapes a card.
 */

/** Shades of each of the style sheet's colours. */
export const SHADES = 2;
export const HUES = 8;

export type Rgb = readonly [number, number, number];

/** Which of `HUES * SHADES` a name has. */
export function hueOf(label: string): number {
  let hash = 2166136261;
  for (let at = 0; at < label.length; at += 1) hash = Math.imul(hash ^ label.charCodeAt(at), 16777619);
  // What ends alike shall not be coloured alike.
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 2246822519);
  return ((hash ^ (hash >>> 13)) >>> 0) % (HUES * SHADES);
}

export function mixed([r, g, b]: Rgb, [x, y, z]: Rgb, share: number): Rgb {
  return [r + (x - r) * share, g + (y - g) * share, b + (z - b) * share];
}

/** Black or white, whichever is read better on a ground. */
export function inkOn([r, g, b]: Rgb): "#000" | "#fff" {
  const light = (value: number): number => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b) > 0.2 ? "#000" : "#fff";
}

export function cssColour([r, g, b]: Rgb): string {
  return `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;
}
