/**
 * The canvases of the entities view: three that lie over each other, for what seldom changes, for communication that fades, and for
 * entities with their names.
 *
 * Invariant: a frame is asked for only while something moves, fades or is played.
 */
import { Board } from "../draw/entities/board";
import { type EntityColours, entityColours } from "../draw/entities/colours";
import type { DrawingKind, EntityDrawing, EntityScene, Frame, Pen, Seen } from "../draw/entities/module";
import { KnownLines } from "../draw/entities/known";
import { paintKnown } from "../draw/entities/paint";
import { Pulses } from "../draw/entities/pulses";
import { SvgPen } from "../draw/entities/svgPen";
import { Trails } from "../draw/entities/trails";
import { fontFamily } from "../draw/scene";
import { Arranger } from "../layout/entities/arranger";
import type { Clarity, Spot } from "../layout/entities/clarity";
import type { EntityInput, Place } from "../layout/entities/types";
import { Activity, loadShare } from "../model/entities/activity";
import { Camera } from "../model/entities/camera";
import { type EntityState, looksDifferent, type Step } from "../model/entities/state";
import { type EntityHands, listenToEntities } from "./entityGestures";

const RADIUS = 500;
/** Lines that are all painted anew while entities move; of more the old ones fade where they were. */
const FEW_LINES = 500;
/** A hand that points at nothing means what is so near, in px. */
const NEAR = 5;
/** Of a line, at most so many count as lately before anything is played. */
const SHOWN = 8;
const LOOK = "(prefers-reduced-motion: reduce)";

export interface Watching {
  /** Before each frame, so many ms after the last one; is anything played, and is there no time left for what can wait? */
  frame(ms: number): { plays: boolean; isFull: boolean };
  changed(): void;
  chosen(entity: number): void;
  opened(entity: number): void;
  failed(error: unknown): void;
}

export class EntitiesStage implements EntityScene, EntityHands {
  readonly radius = RADIUS;
  readonly activity = new Activity();
  readonly camera = new Camera(RADIUS);
  selected = -1;
  hovered = -1;
  lit: ReadonlySet<number> | undefined;
  clarity: Clarity | undefined;
  /** The name of the drawing. */
  kind = "";
  /** The busiest load that was seen, for the colours' legend. */
  busiest = 1;
  private readonly look = matchMedia(LOOK);
  private readonly board = new Board();
  private readonly arranger = new Arranger();
  private readonly trails = new Trails();
  private readonly pulses = new Pulses();
  private readonly known = new KnownLines();
  private drawing: EntityDrawing | undefined;
  private canvases: HTMLCanvasElement[] = [];
  private colours: EntityColours | undefined;
  private listening: AbortController | undefined;
  private drawn = 0;
  private last = 0;
  private groundOld = true;
  private trailsOld = true;
  private dragged = -1;
  /** Is a layout on its way, or settling? */
  private arranging = false;

  constructor(
    private readonly state: EntityState,
    private readonly watching: Watching,
  ) {}

  // --- what is shown ---

  /** Shows the state as it is now, by a drawing that is told of every step from here on. */
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
    this.pulses.forget();
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
    this.pulses.forget();
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
    if (this.activity.size > before) this.known.change();
    if (step.boxes.some(looksDifferent)) this.groundOld = true;
    this.trails.add(used);
    if (!this.calm) this.pulses.add(used, performance.now());
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

  get pins(): boolean {
    return this.drawing?.pin !== undefined;
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
    this.groundOld = true;
    this.known.change();
    this.invalidate();
  }

  // --- frames ---

  attach(element: Element | undefined): void {
    const canvases = element ? [...element.querySelectorAll("canvas")] : [];
    if (canvases[0] === this.canvases[0]) return;
    this.listening?.abort();
    this.canvases = canvases;
    const front = canvases.at(-1);
    if (!element || !front) {
      cancelAnimationFrame(this.drawn);
      this.drawn = 0;
      return;
    }
    this.listening = new AbortController();
    const { signal } = this.listening;
    listenToEntities(front, this, signal);
    const sizes = new ResizeObserver(() => {
      this.resized();
    });
    sizes.observe(front);
    const themes = new MutationObserver(() => {
      this.recolour();
    });
    themes.observe(document.body, { attributes: true, attributeFilter: ["class"] });
    const options = { signal };
    for (const media of ["(prefers-color-scheme: dark)", "(prefers-contrast: more)"]) {
      matchMedia(media).addEventListener("change", () => { this.recolour(); }, options); // prettier-ignore
    }
    signal.addEventListener("abort", () => {
      sizes.disconnect();
      themes.disconnect();
    });
    this.recolour();
  }

  focus(): void {
    this.canvases.at(-1)?.focus();
  }

  private recolour(): void {
    this.colours = undefined;
    this.seenAnew();
  }

  private resized(): void {
    for (const canvas of this.canvases) sized(canvas);
    this.seenAnew();
  }

  /** Another part is seen, or in other colours. */
  seenAnew(): void {
    this.groundOld = true;
    this.trailsOld = true;
    this.known.forget();
    this.invalidate();
  }

  invalidate(): void {
    if (this.drawn !== 0 || this.canvases.length === 0) return;
    this.drawn = requestAnimationFrame((now) => {
      this.drawn = 0;
      this.frame(now);
    });
  }

  private frame(now: number): void {
    const [ground, trails, front] = this.canvases;
    if (!ground || !trails || !front) return;
    // After a rest the first frame takes no time.
    const ms = this.last && now - this.last < 250 ? now - this.last : 1000 / 60;
    const { plays: playing, isFull } = this.watching.frame(ms);
    if (playing) this.activity.pass(ms);
    const moving = this.board.ease(ms, this.calm);
    if (moving) this.redraw();
    this.camera.width = front.clientWidth;
    this.camera.height = front.clientHeight;
    const [groundPen, trailsPen, frontPen] = [penOf(ground), penOf(trails), penOf(front)];
    if (!groundPen || !trailsPen || !frontPen) return;
    const { width, height } = this.camera;
    const frame = this.frameOf(undefined, frontPen);
    if (this.drawsLines && this.known.paint(frame, ground, now, isFull)) this.groundOld = true;
    if (this.groundOld) {
      groundPen.clearRect(0, 0, width, height);
      frame.ground = groundPen;
    }
    frontPen.clearRect(0, 0, width, height);
    let shown = true;
    if (this.trailsOld || (moving && this.activity.size <= FEW_LINES)) {
      trailsPen.clearRect(0, 0, width, height);
      this.trails.paint(trailsPen, frame, this.activity);
    } else {
      if (playing) this.trails.fade(trailsPen, width, height, ms);
      shown = this.trails.paintNew(trailsPen, frame, this.activity, isFull);
    }
    this.drawing?.draw(frame);
    if (this.groundOld && this.drawsLines) this.known.put(groundPen, frame);
    this.groundOld = this.trailsOld = false;
    const running = this.pulses.draw(frontPen, frame, now);
    const goesOn = playing || moving || running || !shown || (this.drawsLines && this.known.isLate);
    front.toggleAttribute("data-still", !goesOn && !this.arranging);
    this.last = goesOn ? now : 0;
    if (goesOn) this.invalidate();
  }

  private get drawsLines(): boolean {
    return this.drawing !== undefined && this.drawing.hasLines !== true;
  }

  /** What the theme says at the moment. */
  get palette(): EntityColours {
    return (this.colours ??= entityColours(document.body));
  }

  private frameOf(ground: Pen | undefined, front: Pen): Frame {
    const { camera, activity, palette } = this;
    const { scale, width, height } = camera;
    const middle = camera.screen({ x: 0, y: 0 });
    const seen: Seen[] = [];
    const holders = new Set<number>();
    for (const shape of this.board.shapes.values()) {
      if (shape.alpha <= 0.01) continue;
      const { x, y, radius } = shape;
      seen.push({ x: middle.x + x * scale, y: middle.y + y * scale, radius: radius * scale, shape });
      holders.add(shape.box.container);
    }
    seen.sort((a, b) => a.shape.depth - b.shape.depth || a.shape.box.entity - b.shape.box.entity);
    return {
      ground,
      front,
      seen,
      byId: new Map(seen.map((one) => [one.shape.box.entity, one])),
      holders,
      talks: { [Symbol.iterator]: () => activity.lines },
      colours: palette,
      load: (entity) => loadShare(activity.load(entity), this.busiest),
      lit: this.lit,
      selected: this.selected,
      hovered: this.hovered,
      width,
      height,
      scale,
      font: fontFamily(),
    };
  }

  /** The picture as a file. */
  svg(): { text: string; width: number; height: number } {
    const pen = new SvgPen();
    const layers = [new SvgPen(), new SvgPen()] as const;
    const frame = this.frameOf(layers[0], layers[1]);
    this.drawing?.draw(frame);
    if (this.drawsLines) paintKnown(layers[0], frame, frame.talks, this.activity.size);
    new Trails().paint(pen, frame, this.activity);
    const { width, height } = frame;
    return { text: SvgPen.file([layers[0], pen, layers[1]], width, height, frame.colours.paper), width, height };
  }

  // --- hands ---

  private at(spot: Spot): Seen | undefined {
    const front = this.canvases.at(-1);
    const pen = front && penOf(front);
    if (!pen) return undefined;
    let found: Seen | undefined;
    for (const one of this.frameOf(undefined, pen).seen) {
      const holds = one.shape.box.holds > 0;
      const [dx, dy] = [Math.abs(spot.x - one.x), Math.abs(spot.y - one.y)];
      const hit = holds ? Math.max(dx, dy) <= one.radius : Math.hypot(dx, dy) <= one.radius + NEAR;
      // Inner ones come later.
      if (hit) found = one;
    }
    return found;
  }

  hover(spot: Spot | undefined): void {
    const over = (spot ? this.at(spot) : undefined)?.shape.box.entity ?? -1;
    this.canvases.at(-1)?.classList.toggle("over", over >= 0);
    if (over === this.hovered) return;
    this.hovered = over;
    this.invalidate();
    this.watching.changed();
  }

  click(spot: Spot): void {
    this.watching.chosen(this.at(spot)?.shape.box.entity ?? -1);
  }

  doubleClick(spot: Spot): void {
    const entity = this.at(spot)?.shape.box.entity ?? -1;
    this.drawing?.pin?.(entity, undefined);
    if (entity >= 0) this.watching.opened(entity);
  }

  /** Where an entity can be dragged, it is; else the picture. */
  dragBegins(spot: Spot): void {
    const one = this.pins ? this.at(spot) : undefined;
    this.dragged = one?.shape.box.holds === 0 ? one.shape.box.entity : -1;
  }

  drag(spot: Spot, dx: number, dy: number): void {
    if (this.dragged >= 0) {
      const to = this.camera.picture(spot);
      const shape = this.board.shapes.get(this.dragged);
      if (shape?.goal) {
        // At once under the hand, whatever the layout says later.
        shape.goal = { ...shape.goal, ...to };
        [shape.x, shape.y] = [to.x, to.y];
      }
      this.drawing?.pin?.(this.dragged, to);
      this.redraw();
      return;
    }
    this.camera.pan(dx, dy);
    this.seenAnew();
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

/** As many pixels as it has on the screen. */
function sized(canvas: HTMLCanvasElement): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [Math.round(canvas.clientWidth * ratio), Math.round(canvas.clientHeight * ratio)];
  if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
  canvas.getContext("2d")?.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function penOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D | undefined {
  return canvas.getContext("2d") ?? undefined;
}
