/**
 * The walks of a report: steps composed from the page's data about events and about some of the links between them.
 *
 * Invariant: a step is the server's answer to it. A step to an event without data in the page has no answer.
 */
import type {
  Method,
  MissingEvents,
  RunRef,
  WalkCard,
  WalkParams,
  WalkResult,
  WalkWay,
} from "../../../shared/protocol";

interface Place {
  card: WalkCard;
  ways: WalkWay[];
}

export interface ReportWalk {
  places: readonly Place[];
  /** Steps of which more is to be said than where they lead. */
  crossings: readonly {
    event: number;
    step: string;
    choice: number;
    clock: string;
    uncertain: boolean;
    gaps: MissingEvents[];
  }[];
}

export class WalkAnswers {
  private readonly places: ReadonlyMap<number, Place>;

  constructor(
    private readonly data: ReportWalk,
    private readonly run: RunRef,
  ) {
    this.places = new Map(data.places.map((one) => [one.card.event, one]));
  }

  /** Undefined for what is no question of a walk's, or has no answer here. */
  answer(method: Method, params: object): WalkResult | undefined {
    if (method !== "clew/walk") return undefined;
    const { target, run = "", step = "here", choice = 0, pick = "" } = params as WalkParams;
    const { event } = target;
    const from = typeof event === "number" ? this.places.get(event) : undefined;
    if (!from || pick !== "" || !["", this.run.id, this.run.name].includes(run)) return undefined;
    const here: WalkResult = {
      ...from,
      run: this.run,
      step,
      moved: step === "here",
      sentence: "",
      ends: [],
      choice,
      clock: "",
      uncertain: false,
      gaps: [],
      message: "",
    };
    if (step === "here") return here;
    const way = from.ways.find((one) => one.step === step);
    if (!way || way.ends.length === 0) return { ...here, sentence: way?.stop ?? "" };
    const taken = way.ends[choice] ? choice : 0;
    const to = this.places.get(way.ends[taken]?.event ?? -1);
    if (!to) return undefined;
    const { clock, uncertain, gaps } =
      this.data.crossings.find((one) => one.event === event && one.step === step && one.choice === taken) ?? here;
    const sentence = way.ends[taken]?.sentence ?? "";
    // The data of the step's start says which end is on the chain.
    const ends = way.ends.map((end) => ({ ...end, onChain: false }));
    return { ...here, ...to, moved: true, sentence, ends, choice: taken, clock, uncertain, gaps };
  }
}
