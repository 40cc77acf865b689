/** The manifest of the view “Aggregate”: where events, calls and times of a run are. */
import "./aggregate.css";
import type { AggregateParams } from "../../../shared/protocol";
import { choice, describeTarget, type Field, question, target, text, whole } from "../../app/question";
import type { ViewManifest } from "../contract";
import { inRun, type Targeted } from "../targets";

/** Paths of nodes, one word each. */
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

export const manifest: ViewManifest<AggregateParams> = {
  name: "aggregate",
  title: "Aggregate",
  hint: "Where calls, times and errors are, from machines down to functions",
  key: "a",
  keys: [
    { keys: "← ↑ → ↓", what: "go from node to node" },
    { keys: "Enter", what: "open the node; for a function, show its source" },
    { keys: "Backspace", what: "close its container" },
    { keys: "h", what: "colour by the next measure" },
    { keys: "f  +  −", what: "show all, zoom in, zoom out" },
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
  make: async (context) => new (await import("./view")).AggregateView(context),
};
