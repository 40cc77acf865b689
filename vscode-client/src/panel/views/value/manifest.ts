/** The manifest of the view “Values”: who wrote a state and when, and why a value is what it is, by a second look at a test. */
import "./value.css";
import "./history.css";
import type { Location } from "../../../shared/protocol";
import { type Field, question, target, text, whole } from "../../app/question";
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

const event: Field<number | null> = {
  put: (words, value) => {
    if (value !== null) whole("event").put(words, value);
  },
  take: (words) => whole("event").take(words),
  valid: (value) => whole("event").valid(value),
};

const skip: Field<number | null> = {
  put: (words, value) => {
    if (value !== null) whole("skip").put(words, value);
  },
  take: (words) => whole("skip").take(words),
  valid: (value) => whole("skip").valid(value),
};

/** Not in the address: a page that is loaded again runs nothing. */
const isLook: Field<boolean> = {
  put: () => undefined,
  take: () => undefined,
  valid: (value) => (value === true ? true : undefined),
};

export const manifest: ViewManifest<ValueQuestion> = {
  name: "value",
  title: "Values",
  hint: "Who wrote a value, and why it is what it is",
  key: "v",
  keys: [...ROW_KEYS, { keys: "n  N", what: "next, previous write" }],
  question: question<ValueQuestion>(
    {},
    {
      run: text("run"),
      test: text("test"),
      expression: text("expression"),
      location,
      state: text("state"),
      event,
      skip,
      isLook,
    },
  ),
  levels: "none",
  describe,
  askedRun: (asked) => asked.run ?? "",
  inRun: (asked, run) => {
    // An event's number, and a page of the writes, are of one run.
    const { event: _event, skip: _skip, ...question } = asked;
    return { ...question, run };
  },
  make: async (context) => new (await import("./view")).ValueView(context),
};

function describe({ expression, test, state, event: write, location: at }: ValueQuestion): string {
  if (state) return state;
  if (typeof write === "number") return `write ${write}`;
  if (expression) return `${expression}${at ? `, ${place(at.path, at.line, "")}` : ""}`;
  return test ?? "the newest failed test";
}
