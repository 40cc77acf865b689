/** The manifest of the view “Values”: why a value is what it is, by a second look at a test. */
import "./value.css";
import type { Location } from "../../../shared/protocol";
import { type Field, question, target, text } from "../../app/question";
import { place } from "../../ui/text/format";
import { ROW_KEYS } from "../commonKeys";
import type { ViewManifest } from "../contract";
import type { ValueQuestion } from "./question";

const location: Field<Location | null> = {
  put: (words, value) => {
    if (value) target.put(words, { location: value });
  },
  take: (words) => target.take(words)?.location ?? undefined,
  valid: (value) => target.valid({ location: value })?.location ?? undefined,
};

export const manifest: ViewManifest<ValueQuestion> = {
  name: "value",
  title: "Values",
  hint: "Why a value of a test is what it is",
  key: "v",
  keys: ROW_KEYS,
  question: question<ValueQuestion>(
    {},
    { run: text("run"), test: text("test"), expression: text("expression"), location },
  ),
  levels: "none",
  describe: ({ expression, test, location: at }) =>
    expression ? `${expression}${at ? `, ${place(at.path, at.line, "")}` : ""}` : (test ?? "the newest failed test"),
  askedRun: (asked) => asked.run ?? "",
  inRun: (asked, run) => ({ ...asked, run }),
  make: async (context) => new (await import("./view")).ValueView(context),
};
