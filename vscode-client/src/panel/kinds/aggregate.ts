/** "Aggregate": what is asked of where a run's events, calls and times are. */
import type { AggregateParams } from "../../shared/protocol";
import { choice, describeTarget, type Field, question, target, text, whole } from "../model/question";
import { registerView } from "../views/view";
import { inRun, type Targeted } from "./target";

/** Paths of boxes, one word each. */
const paths: Field<string[][]> = {
  put: (words, values) => {
    for (const path of values) words.append("open", JSON.stringify(path));
  },
  take: (words) => {
    const found = words.getAll("open").flatMap((word): string[][] => {
      try {
        const path: unknown = JSON.parse(word);
        return isPath(path) ? [path] : [];
      } catch {
        return [];
      }
    });
    return found.length > 0 ? found : undefined;
  },
  valid: (value) => (Array.isArray(value) && value.every(isPath) ? value : undefined),
};

function isPath(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((label) => typeof label === "string");
}

registerView<AggregateParams>({
  name: "aggregate",
  title: "Aggregate",
  hint: "Where calls, times and errors are, from machines down to functions",
  key: "a",
  keys: [
    { keys: "← ↑ → ↓", what: "from box to box" },
    { keys: "Enter", what: "open the box; of a function, its source" },
    { keys: "Backspace", what: "close what it is in" },
    { keys: "h", what: "heat by the next measure" },
    { keys: "f  +  −", what: "show all, closer, farther" },
  ],
  question: question<AggregateParams>(
    {},
    {
      run: text("run"),
      target,
      level: text("level"),
      strands: choice("strands", ["thread", "task"], "thread"),
      opened: paths,
      measure: choice("heat", ["self", "total", "waiting", "calls", "errors"], "self"),
      maxBoxes: whole("boxes"),
    },
  ),
  levels: "none",
  describe: ({ target: of, opened = [] }) => {
    const part = of && Object.keys(of).length > 0 ? describeTarget(of) : "the whole run";
    return opened.length > 0 ? `${part}, in ${opened.at(-1)?.at(-1) ?? ""}` : part;
  },
  askedRun: (asked) => asked.run ?? "",
  inRun: (asked, run) => inRun({ target: {}, ...asked }, run),
  following: (from, asked) => {
    const { target: of, run } = asked as Targeted;
    return from === "slice" || from === "path" ? { target: of, ...(run ? { run } : {}) } : undefined;
  },
  make: async (context) => new (await import("../views/aggregate")).AggregateView(context),
});
