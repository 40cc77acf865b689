/** The font of canvases. */

let font = "";

/** The editor's font, which a canvas does not inherit. */
export function fontFamily(): string {
  font ||= getComputedStyle(document.body).fontFamily || "sans-serif";
  return font;
}
