/** The guides that the panel offers before it asks the server, and the position in a guide. */
import type { WizardParams, WizardResult, WizardStep } from "../../../shared/protocol";

export type AnalysisName = WizardParams["analysis"];

/** Without an analysis, which one is asked first. */
export interface GuideQuestion {
  analysis?: AnalysisName;
  answers: string[];
}

export const ANALYSES: readonly { name: AnalysisName; title: string; what: string }[] = [
  {
    name: "errors",
    title: "Error log analysis",
    what: "Lists the errors, the causes of one of them, and how failing requests differ from others.",
  },
  {
    name: "path",
    title: "Critical path analysis",
    what: "Shows how long requests take, what one request waits for, and what would make it faster.",
  },
  {
    name: "regression",
    title: "Performance regression analysis",
    what: "Shows what became slower since another run, and the functions responsible.",
  },
];

export function nameOf(analysis: AnalysisName): string {
  return ANALYSES.find((one) => one.name === analysis)?.title ?? analysis;
}

/** What has been found so far: the answers before any step, then step after step. */
export interface Found {
  asked: WizardResult;
  steps: readonly WizardStep[];
  saved: string;
  unsaved: string;
}

/** The next step to ask for, undefined when all are there or a question is open. */
export function nextStep({ asked, steps }: Found): number | undefined {
  return asked.question === null && steps.length < asked.steps ? steps.length : undefined;
}

/** With one more answer of the server. */
export function withStep(found: Found, result: WizardResult): Found {
  const { step, saved, unsaved } = result;
  return step ? { ...found, steps: [...found.steps, step], saved, unsaved } : found;
}

/** Back to before a question was answered, by its number. */
export function backTo(guided: GuideQuestion, number: number): GuideQuestion {
  if (number < 0) return { answers: [] };
  return { ...guided, answers: guided.answers.slice(0, number) };
}
