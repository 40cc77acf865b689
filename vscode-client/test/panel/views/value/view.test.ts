/** The view “Values”: what it asks, and that nothing runs again before the user chose it. */
import { expect, test } from "vitest";
import type { Context } from "../../../../src/panel/views/contract";
import { manifest } from "../../../../src/panel/views/value/manifest";
import { historyParams, type ValueQuestion, valueParams } from "../../../../src/panel/views/value/question";
import { ValueView } from "../../../../src/panel/views/value/view";
import type { FailedTest, ValueResult } from "../../../../src/shared/protocol";
import { RUN } from "../../../support/samples";
import { texts } from "../../../support/templates";

const AT = { path: "/shop/cart.py", line: 7 };
const PLAN: ValueResult = {
  run: RUN,
  test: "test_cart.py::test_total",
  tookNs: 2e6,
  tests: [],
  expectedNs: 1.5e9,
  similar: 3,
  answer: null,
  message: "",
  command: "",
  failed: null,
};
const FAILED: FailedTest = {
  test: PLAN.test,
  outcome: "failed",
  exception: "AssertionError: assert -1 == 3",
  location: null,
  raised: null,
  suspects: [],
  moreSuspects: 0,
  sure: "inferred from calls",
  limits: [],
  lines: [
    {
      location: { ...AT, endLine: 0 },
      title: "Cart.apply_coupon",
      source: "self.discount = percent",
      evidence: "ran in 1 of 1 failing tests",
    },
  ],
  unreached: [
    {
      text: "Cart.refund did not run, and 3 of 3 similar passing tests called it",
      location: null,
      steps: [
        {
          text: "paid was False",
          depth: 0,
          isControl: false,
          location: AT,
          function: "Cart.refund",
          source: "if paid:",
        },
      ],
    },
  ],
  value: null,
  noValue: "",
};
const ANSWER = {
  title: "test_total failed",
  steps: [],
  moreSteps: 0,
  omitted: [],
  notes: [],
  instructions: 9,
  seconds: 1,
  functions: [],
};

/** A view at a place, with the requests that it made. */
function opened(question: ValueQuestion): { view: ValueView; asked: [string, Record<string, unknown>][] } {
  const asked: [string, Record<string, unknown>][] = [];
  const state = { busy: 0, runs: [RUN], runsKnown: true, workspace: "/shop" };
  const context = {
    store: { state, changed: () => undefined, update: () => undefined },
    question,
    request: (method: string, params: Record<string, unknown>) => {
      asked.push([method, params]);
      return Promise.resolve(params.isLook === true ? { ...PLAN, answer: ANSWER, failed: FAILED } : PLAN);
    },
    remember: (next: ValueQuestion) => {
      context.question = next;
    },
    reveal: () => undefined,
  };
  return { view: new ValueView(context as unknown as Context<ValueQuestion>), asked };
}

test("ValueView.open() of the tab runs nothing again, and shows the test, the estimate and a button", async () => {
  const { view, asked } = opened({});
  await view.open({});
  expect(asked).toEqual([["clew/value", { isLook: false }]]);
  const drawn = texts(view.draw());
  expect(drawn).toContain(PLAN.test);
  expect(drawn).toContain("about 1.5 s");
  expect(drawn).toContain(" and 3 similar tests");
  expect(drawn).toContain("test_total");
});

test("ValueView.open() runs the test at once if the question says so, and once only", async () => {
  const { view, asked } = opened({ isLook: true });
  await view.open({ isLook: true });
  expect(asked.map(([, params]) => params.isLook)).toEqual([false, true]);
  const drawn = texts(view.draw());
  expect(drawn).toContain("self.discount = percent");
  expect(drawn).toContain("Cart.refund did not run, and 3 of 3 similar passing tests called it");
  expect(drawn).toContain("paid was False");
  // Going back shows the answer that is there.
  await view.open({});
  expect(asked.map(([, params]) => params.isLook)).toEqual([false, true, false]);
  expect(texts(view.draw())).toContain("self.discount = percent");
});

test("valueParams() and historyParams() ask only what can answer the question", () => {
  expect(historyParams({})).toBeUndefined();
  expect(historyParams({ expression: "total" })).toBeUndefined();
  expect(historyParams({ expression: "total", location: AT, run: "a" })).toEqual({
    run: "a",
    expression: "total",
    location: AT,
  });
  expect(historyParams({ state: "Cart.discount", skip: 40 })).toEqual({ state: "Cart.discount", skip: 40 });
  expect(historyParams({ event: 3 })).toEqual({ event: 3 });
  expect(valueParams({ state: "Cart.discount" })).toBeUndefined();
  expect(valueParams({ event: 3 })).toBeUndefined();
  expect(valueParams({ test: "t" })).toEqual({ test: "t" });
});

test("the address of a value keeps the question, but not that a test shall run", () => {
  const words = new URLSearchParams();
  const question = { run: "a", expression: "self.discount", location: AT, skip: 4, isLook: true };
  manifest.question.encode(question, words);
  const { isLook: _isLook, ...kept } = question;
  expect(manifest.question.decode(words)).toEqual(kept);
  expect(manifest.question.valid({ ...question, event: null, skip: null })).toEqual({
    run: "a",
    expression: "self.discount",
    location: AT,
    isLook: true,
  });
  expect(manifest.inRun?.({ event: 3, skip: 2, state: "stock" }, "b")).toEqual({ state: "stock", run: "b" });
});
