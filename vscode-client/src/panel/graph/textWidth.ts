/** Measures the width of texts in the fonts of the graph's style sheet. */
import type { Measure } from "./sizes";

const FONTS = { name: "--clew-font-name", meta: "--clew-font-meta" } as const;

export function measurer(element: Element): Measure {
  const context = document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(element);
  const family = style.fontFamily;
  const fonts = {
    name: `${style.getPropertyValue(FONTS.name).trim() || "600 12px"} ${family}`,
    meta: `${style.getPropertyValue(FONTS.meta).trim() || "400 11px"} ${family}`,
  };
  const known = new Map<string, number>();
  return (text, font) => {
    const key = `${font}\u0000${text}`;
    let width = known.get(key);
    if (width === undefined) {
      if (context) context.font = fonts[font];
      width = context?.measureText(text).width ?? text.length * 7;
      known.set(key, width);
    }
    return width;
  };
}
