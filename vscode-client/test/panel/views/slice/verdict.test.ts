/** The answer in words above the graph of causes. */
import { nothing, type TemplateResult } from "lit";
import { expect, test } from "vitest";
import { drawVerdict, howSure } from "../../../../src/panel/views/slice/verdict";
import { verdict } from "../../../support/samples";

const other = { diagnosis: "lost-wake-up", text: "Other.", certainty: "recorded" as const, events: [1] };
const ignore = (): void => undefined;

/** The texts that a template contains, in order. */
function texts(drawn: unknown): string[] {
  if (typeof drawn === "string") return [drawn];
  if (Array.isArray(drawn)) return drawn.flatMap(texts);
  if (typeof drawn === "object" && drawn !== null && "values" in drawn) {
    return (drawn as TemplateResult).values.flatMap(texts);
  }
  return [];
}

test("howSure() names the certainty and the number of other causes", () => {
  expect(howSure(verdict())).toBe("How sure: recorded");
  expect(howSure(verdict({ sure: "inferred from frames", others: [other, other] }))).toBe(
    "How sure: inferred from frames · 2 other causes found",
  );
});

test("drawVerdict() shows limits before the sentences, then the certainty and the remedy", () => {
  const drawn = drawVerdict(
    verdict({
      sentences: [
        { text: "A.", events: [] },
        { text: "B.", events: [] },
      ],
      limits: ["trio is not followed."],
      certainty: "unknown",
      sure: "not known: waits were not recorded",
      remedy: "clew run -- python app.py",
    }),
    ignore,
  );
  expect(texts(drawn)).toEqual([
    "trio is not followed.",
    "A. B.",
    "How sure: not known: waits were not recorded",
    "clew run -- python app.py",
  ]);
});

test("drawVerdict() without an answer shows nothing", () => {
  expect(drawVerdict(null, ignore)).toBe(nothing);
});
