/**
 * The stage of entities: their positions, the recent communication, and the current drawing.
 *
 * Invariant: the stage requests a frame only while an entity moves, a line fades or playback runs.
 */
import { Board } from "../paint/board";
import { type EntityColours, entityColours } from "../paint/colours";
import { frameOf } from "../paint/frame";
import { Layers, svgOf } from "../paint/layers";
import type { DrawingKind, EntityDrawing, EntityScene } from "../drawings/contract";
import { LayoutClient } from "../layouts/client";
import type { Clarity } from "../layouts/clarity";
import type { EntityInput, Place, Spot } from "../layouts/types";
import { Activity } from "../model/activity";
import { Camera } from "../model/camera";
import { type EntityState, looksDifferent, type Step } from "../model/state";
import { type Due, EntityCanvases } from "./canvases";
import { StagePointer, type PointerTarget } from "./pointer";

const RADIUS = 500;
/** Maximum number of recent messages of a line before playback starts. */
const SHOWN = 8;
const LOOK = "(prefers-reduced-motion: reduce)";

export interface StageListener {
  /** Before each frame, this many ms after the last one; is playback running, and is there no time for optional work? */
  frame(ms: number): { plays: boolean; isFull: boolean };
  changed(): void;
  chosen(entity: number): void;
  opened(entity: number): void;
  failed(error: unknown): void;
}

export class EntitiesStage implements EntityScene, Due, PointerTarget {
  readonly radius = RADIUS;
  readonly activity = new Activity();
  readonly camera = new Camera(RADIUS);
  selected = -1;
  hovered = -1;
  lit: ReadonlySet<number> | undefined;
  clarity: Clarity | undefined;
  /** The name of the drawing. */
  kind = "";
  readonly board = new Board();
  drawing: EntityDrawing | undefined;
  /** The busiest load that was seen, for the colours' legend. */
  busiest = 1;
  private readonly look = matchMedia(LOOK);
  private readonly arranger = new LayoutClient();
  private readonly layers = new Layers();
  private readonly canvases = new EntityCanvases(this);
  private readonly hands: StagePointer;
  private colours: EntityColours | undefined;
  private last = 0;
  /** Is a layout on its way, or settling? */
  private arranging = false;

  constructor(
    private readonly state: EntityState,
    private readonly watching: StageListener,
  ) {
    this.hands = new StagePointer(this, watching);
  }

  // --- what is shown ---

  /** Shows the current state in a drawing that handles every step from now on. */
  begin(kind: DrawingKind): void {
    this.drawing?.close?.();
    this.arranger.forget();
    this.arranging = false;
    this.board.show(this.state.boxes);
    this.clarity = undefined;
    this.kind = kind.name;
    this.drawing = kind.make(this);
    this.redraw();
  }

  end(): void {
    this.drawing?.close?.();
    this.drawing = undefined;
    this.arranger.forget();
    this.arranging = false;
    this.activity.forget();
    this.layers.rest();
    this.board.show(new Map());
  }

  /** Lines that there are in the run, which the layout knows from the start. */
  know(lines: Step["lines"]): void {
    for (const line of lines) this.activity.know(line);
  }

  /** What happened lately, before anything is played. */
  show({ lines }: Step): void {
    for (const line of lines) this.activity.talk({ ...line, count: Math.min(line.count, SHOWN) });
    this.noteBusiest(lines);
    this.seenAnew();
  }

  /** To another moment, far away: what was seen of the way here is of no interest. */
  jump(step: Step, forward: boolean): void {
    this.activity.rest();
    this.layers.rest();
    this.know(step.lines);
    this.board.show(this.state.boxes);
    if (forward) this.drawing?.handle(step);
    else this.drawing?.unhandle(step);
    this.seenAnew();
  }

  /** So much time passes at once, for what fades. */
  pass(ms: number): void {
    this.activity.pass(ms);
    this.seenAnew();
  }

  handle(step: Step): void {
    this.taken(step);
    this.drawing?.handle(step);
  }

  unhandle(step: Step): void {
    this.taken(step);
    this.drawing?.unhandle(step);
  }

  private taken(step: Step): void {
    this.board.show(this.state.boxes);
    const before = this.activity.size;
    const used = step.lines.map((line) => this.activity.talk(line));
    if (this.activity.size > before) this.layers.changeLines();
    if (step.boxes.some(looksDifferent)) this.layers.changeGround();
    this.layers.use(used, !this.calm);
    this.noteBusiest(used);
    this.invalidate();
  }

  private noteBusiest(lines: readonly { source: number; target: number }[]): void {
    for (const { source, target } of lines) {
      this.busiest = Math.max(this.busiest, this.activity.load(source), this.activity.load(target));
    }
  }

  /** In words, where the drawing chose. */
  get said(): string {
    return this.drawing?.said?.() ?? "";
  }

  private get calm(): boolean {
    return this.look.matches;
  }

  // --- for drawings ---

  get boxes(): EntityState["boxes"] {
    return this.state.boxes;
  }

  input(): EntityInput {
    const talks = [...this.activity.lines].filter(
      ({ source, target }) => this.boxes.has(source) && this.boxes.has(target),
    );
    return {
      entities: [...this.boxes.values()].map(({ entity, container }) => ({ id: entity, container })),
      talks: talks.map(({ source, target, count }) => ({ source, target, count: Math.max(1, count) })),
      radius: RADIUS,
    };
  }

  places(): Place[] {
    return this.board.goals();
  }

  put(places: readonly Place[], clarity: Clarity | undefined): void {
    this.board.aim(places);
    if (clarity) {
      this.clarity = clarity;
      this.watching.changed();
    }
    this.redraw();
  }

  arrange(
    layout: Parameters<EntityScene["arrange"]>[0],
    pinned: readonly Place[],
    told: Parameters<EntityScene["arrange"]>[2],
  ): void {
    this.arranging = true;
    void this.arranger.arrange({ layout, input: this.input(), from: this.places(), pinned }, (answer) => {
      this.arranging = !answer.settled;
      told(answer);
    });
  }

  pin(entity: number, spot: Spot | undefined): void {
    this.arranger.pin(entity, spot);
  }

  failed(error: unknown): void {
    this.watching.failed(error);
  }

  redraw(): void {
    this.layers.changeGround();
    this.layers.changeLines();
    this.invalidate();
  }

  // --- frames ---

  attach(element: Element | undefined): void {
    this.canvases.attach(element, this.hands);
  }

  focus(): void {
    this.canvases.focus();
  }

  sized(): void {
    this.seenAnew();
  }

  recoloured(): void {
    this.colours = undefined;
    this.seenAnew();
  }

  /** Another part is seen, or in other colours. */
  seenAnew(): void {
    this.layers.changeAll();
    this.invalidate();
  }

  invalidate(): void {
    this.canvases.ask();
  }

  frame(now: number): void {
    const { canvases, camera } = this;
    const { size, pens } = canvases;
    if (!size || !pens) return;
    // After a rest the first frame takes no time.
    const ms = this.last && now - this.last < 250 ? now - this.last : 1000 / 60;
    const { plays: playing, isFull } = this.watching.frame(ms);
    if (playing) this.activity.pass(ms);
    const moving = this.board.ease(ms, this.calm);
    if (moving) this.redraw();
    [camera.width, camera.height] = [size.width, size.height];
    const frame = frameOf(this, undefined, pens[2]);
    const pace = { now, ms, playing, moving, isFull };
    const unpainted = this.layers.paint(pens, frame, this.activity, this.drawing, pace);
    const goesOn = playing || moving || unpainted;
    canvases.still(!goesOn && !this.arranging);
    this.last = goesOn ? now : 0;
    if (goesOn) this.invalidate();
  }

  /** What the theme says at the moment. */
  get palette(): EntityColours {
    return (this.colours ??= entityColours(document.body));
  }

  /** The picture as a file. */
  svg(): ReturnType<typeof svgOf> {
    return svgOf((ground, front) => frameOf(this, ground, front), this.activity, this.drawing);
  }

  // --- hands ---

  hover(entity: number): void {
    this.hovered = entity;
    this.canvases.over(entity >= 0);
    this.invalidate();
    this.watching.changed();
  }

  zoomBy(factor: number, at?: Spot): void {
    this.camera.zoomAt(factor, at);
    this.seenAnew();
  }

  fit(): void {
    this.camera.fit();
    this.seenAnew();
  }

  /** Moves just so far that an entity is seen. */
  uncover(entity: number): void {
    const shape = this.board.shapes.get(entity);
    if (shape) this.camera.show(shape.goal ?? shape);
    this.seenAnew();
  }
}
