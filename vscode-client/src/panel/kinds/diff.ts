/** "Functions": what is asked of two runs compared by their functions. */
import type { DiffParams } from "../../shared/protocol";
import { DEFAULT_LEVEL } from "../model/place";
import { question, text, texts, whole } from "../model/question";
import { registerView } from "../views/view";
import { GRAPH_KEYS, ROW_KEYS } from "./graph";
import { describePair } from "./pair";

registerView<DiffParams>({
  name: "diff",
  title: "Functions",
  hint: "Two runs compared by their functions",
  key: "f",
  keys: [...ROW_KEYS, ...GRAPH_KEYS],
  question: question<DiffParams>(
    { before: "", after: "" },
    {
      before: text("before"),
      after: text("after"),
      level: text("level", DEFAULT_LEVEL),
      maxRows: whole("rows"),
      alsoBefore: texts("alsoBefore"),
      alsoAfter: texts("alsoAfter"),
    },
  ),
  levels: "functions",
  describe: ({ before, after, alsoBefore = [], alsoAfter = [] }) =>
    describePair([before, ...alsoBefore].join(", "), [after, ...alsoAfter].join(", ")),
  askedRun: (asked) => asked.after,
  make: async (context) => new (await import("../views/diff")).DiffView(context),
});
