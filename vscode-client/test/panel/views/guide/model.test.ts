import { describe, expect, it } from "vitest";
import { backTo, type Found, nextStep, withStep } from "../../../../src/panel/views/guide/model";
import { VIEWS } from "../../../../src/panel/views/registry";
import type { WizardResult, WizardStep } from "../../../../src/shared/protocol";

const STEP: WizardStep = {
  title: "t",
  sentence: "s",
  columns: [],
  rows: [],
  code: "",
  run: "r",
  view: "",
  params: null,
  hiddenRows: 0,
};
const ASKED: WizardResult = {
  title: "Error log analysis",
  asked: [],
  question: null,
  step: STEP,
  steps: 2,
  saved: "",
  unsaved: "",
  message: "",
};

describe("guide", () => {
  it("nextStep is the next number, and undefined while a question is open", () => {
    let found: Found = { asked: ASKED, steps: [], saved: "", unsaved: "" };
    expect(nextStep(found)).toBe(0);
    found = withStep(found, ASKED);
    expect(nextStep(found)).toBe(1);
    found = withStep(found, { ...ASKED, saved: "query.py" });
    expect(nextStep(found)).toBeUndefined();
    expect(found.saved).toBe("query.py");
    expect(withStep(found, { ...ASKED, unsaved: "no room" }).unsaved).toBe("no room");
    const open: WizardResult = {
      ...ASKED,
      step: null,
      steps: 0,
      question: { text: "Which run?", choices: [], hiddenChoices: 0 },
    };
    expect(nextStep({ asked: open, steps: [], saved: "", unsaved: "" })).toBeUndefined();
    expect(withStep({ asked: open, steps: [], saved: "", unsaved: "" }, open).steps).toEqual([]);
  });

  it("backTo returns to a question, or to the choice of a guide", () => {
    const guided = { analysis: "path" as const, answers: ["run", "order", "slowest"] };
    expect(backTo(guided, 2).answers).toEqual(["run", "order"]);
    expect(backTo(guided, 0)).toEqual({ analysis: "path", answers: [] });
    expect(backTo(guided, -1)).toEqual({ answers: [] });
  });

  it("question survives the address with its answers", () => {
    const kind = VIEWS.find((one) => one.name === "wizard");
    const words = new URLSearchParams();
    const guided = { analysis: "path", answers: ["a run", "b&c"] };
    kind?.question.encode(guided, words);
    expect(kind?.question.decode(new URLSearchParams(words.toString()))).toEqual(guided);
    expect(kind?.question.valid({ analysis: "none", answers: 3 })).toEqual({ answers: [] });
    expect(kind?.describe(guided)).toBe("Critical path analysis, question 3");
  });
});
