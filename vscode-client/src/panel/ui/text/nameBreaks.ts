/** Breaks long names in narrow places: after separators first, and anywhere only if that is not enough. */
import { html, type TemplateResult } from "lit";

/** Breaks the name of a function, a node or a pattern after its dots, and between calls in brackets after brackets and commas. */
export function brokenName(name: string): unknown[] {
  return withBreaks(name.split(name.includes("(") ? /(?<=[(,])(?=.)/ : /(?<=\.)(?=.)/));
}

/** Breaks a path with a line number after slashes, so that file name and number stay whole. */
export function brokenPath(path: string): unknown[] {
  return withBreaks(path.split(/(?<=\/)(?=.)/));
}

function withBreaks(parts: readonly string[]): (string | TemplateResult)[] {
  return parts.flatMap((part, at) => (at === 0 ? [part] : [html`<wbr />`, part]));
}
