/** What templates contain, for tests of drawings without a browser. */
import type { TemplateResult } from "lit";

/** The texts that a template contains, in order. */
export function texts(drawn: unknown): string[] {
  return parts(drawn).filter((part) => typeof part === "string");
}

function parts(drawn: unknown): unknown[] {
  if (Array.isArray(drawn)) return drawn.flatMap(parts);
  if (typeof drawn === "object" && drawn !== null && "values" in drawn) {
    return (drawn as TemplateResult).values.flatMap(parts);
  }
  return [drawn];
}
