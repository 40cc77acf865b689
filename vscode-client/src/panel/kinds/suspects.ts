/** "Suspects": what is asked of where a run's requests differ. */
import type { LocalizeParams, LocalizeThresholds } from "../../shared/protocol";
import { passed, question, text, texts, whole } from "../model/question";
import { registerView } from "../views/view";
import { ROW_KEYS } from "./graph";
import { describePair } from "./pair";

registerView<LocalizeParams>({
  name: "suspects",
  title: "Suspects",
  hint: "Where to look for what is different in a run's requests",
  key: "s",
  keys: ROW_KEYS,
  question: question<LocalizeParams>(
    { suspect: [] },
    {
      suspect: texts("after"),
      // No reference at all is a choice of its own.
      reference: texts("before", { name: "reference", word: "none" }),
      request: text("request"),
      maxSuspects: whole("rows"),
      thresholds: passed<LocalizeThresholds>(),
    },
  ),
  levels: "none",
  describe: ({ suspect, reference = [] }) => describePair(reference.join(", "), suspect.join(", ")),
  askedRun: (asked) => asked.suspect[0] ?? "",
  make: async (context) => new (await import("../views/suspects")).SuspectsView(context),
});
