/** "Guide": which analysis, and the answers that were given to its questions. */
import type { WizardParams } from "../../shared/protocol";
import { choice, type Field, question, texts } from "../model/question";
import { ANALYSES, type Guided, nameOf } from "../model/wizard";
import { registerView } from "../views/view";
import { ROW_KEYS } from "./graph";

const analysis: Field<WizardParams["analysis"]> = choice(
  "analysis",
  ANALYSES.map((one) => one.name),
);

registerView<Guided>({
  name: "wizard",
  title: "Guide",
  hint: "Analyse errors, a critical path or a regression, step by step",
  key: "q",
  keys: [
    ...ROW_KEYS,
    { keys: "1 … 9", what: "answer the question" },
    { keys: "Backspace", what: "the question before" },
  ],
  question: question<Guided>({ answers: [] }, { analysis, answers: texts("answer") }),
  levels: "none",
  describe: ({ analysis: asked, answers }) =>
    asked ? `${nameOf(asked)}${answers.length > 0 ? `, question ${answers.length + 1}` : ""}` : "which analysis?",
  askedRun: () => "",
  make: async (context) => new (await import("../views/wizard")).WizardView(context),
});
