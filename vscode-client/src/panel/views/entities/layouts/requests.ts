/**
 * Computes layouts of entities in a worker: a request has a number, and each change of the picture is an answer.
 *
 * Forces answer every few milliseconds while they settle; a newer request stops that. Invariant: the last answer to a request is
 * `settled` unless a newer request came.
 */
import { automatic, LAYOUTS, type LayoutName } from "./auto";
import { type Clarity, clarity } from "./clarity";
import { ForceLayout } from "./force/force";
import type { EntityInput, Place, Spot } from "./types";

export interface ArrangeRequest {
  number: number;
  /** "given": only how clear the places in `from` are. */
  layout: LayoutName | "auto" | "given";
  input: EntityInput;
  /** Where entities are now. */
  from: readonly Place[];
  pinned: readonly Place[];
}

/** Holds an entity while a layout of forces is on its way, or when it has settled. */
export interface PinRequest {
  pin: number;
  /** In px of the layout; undefined unpins. */
  spot: Spot | undefined;
}

export interface ArrangeAnswer {
  number: number;
  name: LayoutName | "given";
  places: Place[];
  /** With the first and the last answer. */
  clarity: Clarity | undefined;
  settled: boolean;
}

/** Work between two checks for new requests, in ms. */
const SLICE = 12;
const MOST_CYCLES = 4000;

export class LayoutRequests {
  private forces: { layout: ForceLayout; scale: number | undefined; request: ArrangeRequest } | undefined;
  private running = false;

  /** `later` calls after everything that came in meanwhile. */
  constructor(
    private readonly answer: (answer: ArrangeAnswer) => void,
    private readonly later: (work: () => void) => void = (work) => setTimeout(work, 0),
    private readonly now: () => number = () => performance.now(),
  ) {}

  begin(request: ArrangeRequest): void {
    this.forces = undefined;
    const { number, layout, input } = request;
    if (layout === "force") {
      this.settle(request);
      return;
    }
    if (request.from.length === 0 && layout !== "given" && layout !== "concentric") {
      // To be seen while the better one is searched for.
      this.answer({
        number,
        name: "concentric",
        places: LAYOUTS.concentric(input),
        clarity: undefined,
        settled: false,
      });
    }
    const found =
      layout === "auto"
        ? automatic(input)
        : layout === "given"
          ? { name: layout, places: [...request.from] }
          : { name: layout, places: LAYOUTS[layout](input) };
    if (found.name === "force") {
      this.settle(request);
      return;
    }
    const { name, places } = found;
    this.answer({ number, name, places, clarity: clarity(input, places), settled: true });
  }

  pin({ pin, spot }: PinRequest): void {
    if (!this.forces) return;
    const { layout } = this.forces;
    // The picture must not shrink under the hand.
    const scale = (this.forces.scale ??= layout.scale);
    layout.pin(pin, spot && { x: spot.x / scale, y: spot.y / scale });
    layout.cycles = 0;
    this.go();
  }

  private settle(request: ArrangeRequest): void {
    const layout = new ForceLayout(request.input, request.from);
    for (const { id, x, y } of request.pinned) layout.pin(id, { x: x / layout.scale, y: y / layout.scale });
    this.forces = { layout, scale: undefined, request };
    this.tell(true);
    this.go();
  }

  private go(): void {
    if (this.running) return;
    this.running = true;
    this.later(() => {
      this.run();
    });
  }

  private run(): void {
    this.running = false;
    if (!this.forces) return;
    const { layout } = this.forces;
    const begun = this.now();
    let moving = true;
    while (moving && layout.cycles < MOST_CYCLES && this.now() - begun < SLICE) moving = layout.cycle();
    const settled = !moving || layout.cycles >= MOST_CYCLES;
    this.tell(settled, settled);
    if (!settled) this.go();
  }

  private tell(withFigures: boolean, settled = false): void {
    if (!this.forces) return;
    const { layout, scale, request } = this.forces;
    const places = layout.places(scale ?? layout.scale);
    const figures = withFigures ? clarity(request.input, places) : undefined;
    this.answer({ number: request.number, name: "force", places, clarity: figures, settled });
  }
}
