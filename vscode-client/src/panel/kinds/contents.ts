/** "Contents": the first view of a report, which says what is in it. */
import type { ReportData } from "../model/report";
import { question } from "../model/question";
import { registerView } from "../views/view";

/** To be called before the other views are registered: its tab is the first one. */
export function registerContents(data: ReportData): void {
  registerView({
    name: "contents",
    title: "Contents",
    hint: "What is in this report",
    key: "o",
    keys: [],
    question: question<object>({}, {}),
    levels: "none",
    describe: () => "of the report",
    askedRun: () => "",
    make: async (context) => new (await import("../views/contents")).ContentsView(context, data),
  });
}
