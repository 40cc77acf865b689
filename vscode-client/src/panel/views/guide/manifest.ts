/** The manifest of the view “Guide”: the chosen analysis and the answers to its questions. */
import "./guide.css";
import type { WizardParams } from "../../../shared/protocol";
import { choice, type Field, question, texts } from "../../app/question";
import { ANALYSES, type GuideQuestion, nameOf } from "./model";
import type { ViewManifest } from "../contract";
import { ROW_KEYS } from "../commonKeys";

const analysis: Field<WizardParams["analysis"]> = choice(
  "analysis",
  ANALYSES.map((one) => one.name),
);

export const manifest: ViewManifest<GuideQuestion> = {
  name: "wizard",
  title: "Guide",
  hint: "Analyse errors, a critical path or a regression, step by step",
  key: "q",
  keys: [
    ...ROW_KEYS,
    { keys: "1 … 9", what: "answer the question" },
    { keys: "Backspace", what: "back to the previous question" },
  ],
  question: question<GuideQuestion>({ answers: [] }, { analysis, answers: texts("answer") }),
  levels: "none",
  describe: ({ analysis: asked, answers }) =>
    asked ? `${nameOf(asked)}${answers.length > 0 ? `, question ${answers.length + 1}` : ""}` : "which analysis?",
  askedRun: () => "",
  make: async (context) => new (await import("./view")).GuideView(context),
};
