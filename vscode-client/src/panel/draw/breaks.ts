/** Long names in narrow places: they break where a reader would, and only where that is not enough anywhere. */
import { html, type TemplateResult } from "lit";

/** The name of a function, a box or a pattern: behind its dots, and where calls stand in brackets behind those and commas. */
export function brokenName(name: string): unknown[] {
  return withBreaks(name.split(name.includes("(") ? /(?<=[(,])(?=.)/ : /(?<=\.)(?=.)/));
}

/** A path with a line's number: behind slashes, so that neither file nor number is torn apart. */
export function brokenPath(path: string): unknown[] {
  return withBreaks(path.split(/(?<=\/)(?=.)/));
}

function withBreaks(parts: readonly string[]): (string | TemplateResult)[] {
  return parts.flatMap((part, at) => (at === 0 ? [part] : [html`<wbr />`, part]));
}
