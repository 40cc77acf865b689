/** The answer in words above the graph of causes. */
import { nothing } from "lit";
import { expect, test } from "vitest";
import { drawVerdict, howSure } from "../../../../src/panel/views/slice/verdict";
import { verdict } from "../../../support/samples";
import { texts } from "../../../support/templates";

const other = { diagnosis: "lost-wake-up", text: "Other.", certainty: "recorded" as const, events: [1] };
const ignore = (): void => undefined;
const act = { workspace: "/shop", reveal: ignore, say: ignore, values: ignore };

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
    act,
  );
  expect(texts(drawn)).toEqual([
    "trio is not followed.",
    "A. B.",
    "How sure: not known: waits were not recorded",
    "clew run -- python app.py",
  ]);
});

test("drawVerdict() of a failed test shows its suspects before the verdict", () => {
  const location = { path: "/shop/cart.py", line: 7, endLine: 0 };
  const drawn = texts(
    drawVerdict(
      verdict({
        failedTest: {
          test: "test_cart.py::test_total",
          outcome: "failed",
          exception: "AssertionError: assert -1 == 3",
          location: null,
          raised: null,
          suspects: [
            { function: "cart:Cart.total", title: "Cart.total", evidence: ["raised here", "ran in 1 of 1"], location },
          ],
          moreSuspects: 2,
          sure: "inferred from calls",
          limits: ["No test passed."],
          lines: [],
          unreached: [],
          value: null,
          noValue: "",
        },
      }),
      act,
    ),
  );
  expect(drawn).toContain("Cart.total");
  expect(drawn).toContain("raised here; ran in 1 of 1");
  expect(drawn).toContain("No test passed.");
  expect(drawn.indexOf("How sure: inferred from calls")).toBeLessThan(drawn.indexOf("How sure: recorded"));
  expect(drawn).toContain("2 more functions");
  expect(drawn).toContain("Why are its values so?");
});

test("drawVerdict() links a state that was written to its history, where there is a view for it", () => {
  const link = "Who else wrote it?";
  expect(texts(drawVerdict(verdict({ write: 31 }), act))).toContain(link);
  expect(texts(drawVerdict(verdict({ write: 31 }), { ...act, values: undefined }))).not.toContain(link);
  expect(texts(drawVerdict(verdict(), act))).not.toContain(link);
});

test("drawVerdict() without an answer shows nothing", () => {
  expect(drawVerdict(null, act)).toBe(nothing);
});
