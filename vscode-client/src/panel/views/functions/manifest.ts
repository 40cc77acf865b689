/** The manifest of the view “Functions”: two runs compared by their functions. */
import type { DiffParams } from "../../../shared/protocol";
import { DEFAULT_LEVEL } from "../../app/place";
import { question, text, texts, whole } from "../../app/question";
import type { ViewManifest } from "../contract";
import { GRAPH_KEYS, ROW_KEYS } from "../commonKeys";
import { describePair } from "../../comparison/title";

export const manifest: ViewManifest<DiffParams> = {
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
  make: async (context) => new (await import("./view")).FunctionsView(context),
};
