/**
 * The state of a timeline: the visible part, folds, selection and measured interval; draws a frame after each change.
 *
 * Invariant: a frame uses the available tiles; missing tiles are requested and drawn when they arrive.
 */
import type {
  TimelineArrow,
  TimelineCall,
  TimelineFunction,
  TimelineParams,
  TimelineResult,
} from "../../../../shared/protocol";
import { ClippedSvgPen } from "../draw/clippedSvgPen";
import { SvgPen } from "../../../ui/canvas/svgPen";
import { lanesToRequest, AXIS, type Box, isSeen, type Scene } from "../draw/scene";
import { cssColour } from "../../../ui/hue";
import type { TimelinePen } from "../../../ui/canvas/pen";
import { type Names } from "../tiles/bitmaps";
import { type ThemeColours, themeColours } from "../../../ui/canvas/themeColours";
import { drawOverview, drawTimeline, timeAt } from "../draw/frame";
import { type Folded, foldedAtFirst, type Lane, laneAt, lanes, ROW, seen, toggleFold } from "../draw/lanes";
import { lengthOf, panned, type Span, wholeSpan, clamped, zoomed } from "../../../ui/timeSpan";
import { keyOf, nearestScale, scaleFor } from "../tiles/tiles";
import { TileStore, type WantedTiles } from "../tiles/store";
import { Canvases } from "./canvases";
import type { GestureActions } from "./gestures";
import type { Context } from "../../contract";

const GUTTER = 168;
const NARROW_GUTTER = 92;
const NARROW = 640;
const OVERVIEW = 40;
/** Milliseconds of rest before what is slower is asked for, */
const REST = 140;
/** and before the hovered call shows its card. */
const POINTED = 30;
/** How near a hand has to point, in px. */
const NEAR = 2;
const MOST_ARROWS = 200;

/** A place in the run that one points at. */
export interface Spot {
  strand: number;
  depth: number;
  ns: number;
  slackNs: number;
}

/** What becomes of what hands do with calls. */
export interface Hands {
  pointed(spot: Spot | undefined, at: { x: number; y: number } | undefined): void;
  clicked(spot: Spot | undefined): void;
  /** Twice. */
  opened(spot: Spot): void;
  /** Nothing moved for a while. */
  rested(span: Span, isAll: boolean): void;
}

export class Stage implements GestureActions {
  all: Span = wholeSpan(0, 1);
  span: Span = this.all;
  lanes: Lane[] = [];
  /** Functions by their sites. */
  readonly labels = new Map<number, TimelineFunction>();
  /** What is searched for; undefined: nothing is. */
  lit: ReadonlySet<number> | undefined;
  arrows: readonly TimelineArrow[] = [];
  hiddenArrows = 0;
  selected: TimelineCall | undefined;
  hovered: TimelineCall | undefined;
  brush: Span | undefined;
  /** Where the pointer is, over the canvas. */
  mouse: { x: number; y: number } | undefined;
  private result: TimelineResult | undefined;
  private folded: Folded = { processes: new Set(), strands: new Set() };
  private colours: ThemeColours | undefined;
  readonly canvases: Canvases;
  private rest = 0;
  private pointing = 0;
  private readonly tiles: TileStore;

  constructor(
    private readonly context: Context<TimelineParams>,
    private readonly hands: Hands,
  ) {
    this.canvases = new Canvases(this, {
      frame: () => {
        this.frame();
      },
      sized: () => {
        this.moved();
      },
      recoloured: () => {
        this.recolour();
      },
    });
    this.tiles = new TileStore(
      context,
      (unknown) => {
        for (const one of unknown) this.labels.set(one.site, one);
        this.invalidate();
      },
      (error) => {
        context.store.update({ error: error instanceof Error ? error.message : String(error) });
      },
    );
  }

  /** Shows a run; the same one again keeps what is folded and selected. */
  begin(result: TimelineResult, { fromNs = 0, toNs = 0, strand = "" }: TimelineParams): void {
    const isAnother = this.result?.run.id !== result.run.id;
    this.result = result;
    this.all = wholeSpan(result.fromNs, result.toNs);
    const end = toNs > fromNs ? toNs : fromNs > 0 ? this.all.to : 0;
    this.span = end > 0 ? clamped({ from: fromNs, to: end }, this.all) : this.all;
    if (isAnother) {
      this.selected = this.hovered = this.brush = undefined;
      this.labels.clear();
      this.folded = foldedAtFirst(result, strand !== "");
    }
    for (const one of result.functions) this.labels.set(one.site, one);
    this.arrows = [];
    this.hiddenArrows = 0;
    this.tiles.begin(result.run.id);
    this.layout();
  }

  end(): void {
    this.result = undefined;
    this.selected = this.hovered = this.brush = undefined;
    this.tiles.begin("");
  }

  light(lit: ReadonlySet<number> | undefined): void {
    this.lit = lit;
    this.recolour();
  }

  recolour(): void {
    this.colours = undefined;
    this.tiles.repaint();
    this.invalidate();
  }

  invalidate(): void {
    this.canvases.invalidate();
  }

  get width(): number {
    return this.canvases.width;
  }

  get top(): number {
    return this.canvases.top;
  }

  get gutter(): number {
    return this.width < NARROW ? NARROW_GUTTER : GUTTER;
  }

  scene(): Scene | undefined {
    const { result, canvases } = this;
    if (!result || this.width === 0) return undefined;
    this.colours ??= themeColours(document.body);
    const { colours } = this;
    const ratio = window.devicePixelRatio || 1;
    const names: Names = {
      labelOf: (site) => this.labels.get(site)?.label ?? "",
      isLit: (site) => this.lit?.has(site) ?? true,
    };
    const nodeOf = (call: TimelineCall | undefined): Box | undefined =>
      call && { strand: call.strand, depth: call.depth, from: call.fromNs, to: call.toNs };
    return {
      span: this.span,
      lanes: this.lanes,
      strands: new Map(result.strands.map((one) => [one.strand, one])),
      top: this.top,
      width: this.width,
      height: canvases.height,
      gutter: this.gutter,
      scale: nearestScale(
        scaleFor(lengthOf(this.span) / Math.max(1, (this.width - this.gutter) * ratio)),
        result.scales,
      ),
      colours,
      names,
      arrows: this.arrows,
      gaps: result.gaps,
      selected: nodeOf(this.selected),
      hovered: nodeOf(this.hovered),
      brush: this.brush,
      focused: canvases.isFocused,
      tile: (lane, scale, number) => this.tiles.tile(lane, scale, number),
      picture: (lane, scale, number) => this.tiles.picture(keyOf(lane, scale, number), colours, names),
    };
  }

  private frame(): void {
    const scene = this.scene();
    const pens = this.canvases.pens();
    if (!scene || !pens || !this.result) return;
    drawTimeline(pens.front, scene);
    const wanted = this.wanted(scene);
    this.tiles.want(wanted);
    this.canvases.isWhole(this.tiles.isWhole(wanted));
    if (pens.overview) this.drawWhole(pens.overview, scene, this.result);
  }

  private drawWhole(pen: TimelinePen, { width, gutter, span, colours }: Scene, result: TimelineResult): void {
    const { fromNs, scale, activity } = result;
    const of = { all: this.all, span, begin: fromNs, bucket: 2 ** scale, activity, colours };
    drawOverview(pen, { width, height: OVERVIEW, gutter }, of);
  }

  /** What is seen, as a file of SVG. */
  svg(): { text: string; width: number; height: number } | undefined {
    const scene = this.scene();
    if (!scene || !this.result) return undefined;
    const pen = new ClippedSvgPen();
    drawTimeline(pen, { ...scene, hovered: undefined, focused: false });
    pen.save();
    pen.translate(0, scene.height);
    this.drawWhole(pen, scene, this.result);
    pen.restore();
    const [width, height] = [scene.width, scene.height + OVERVIEW];
    return { text: SvgPen.file([pen], width, height, cssColour(scene.colours.ground)), width, height };
  }

  private wanted(scene: Scene): WantedTiles {
    const shown = seen(scene.lanes, scene.top, scene.height);
    const blocks = shown.flatMap((lane) =>
      lanesToRequest(lane).filter((block) => isSeen(lane, block.depth ?? 0, scene)),
    );
    const farther = nearestScale(scene.scale + 1, this.result?.scales ?? []);
    return { lanes: blocks, span: scene.span, scale: scene.scale, farther };
  }

  /** Another part is seen: at once as well as it can be, and after a rest with arrows, words and address. */
  moved(): void {
    this.invalidate();
    window.clearTimeout(this.rest);
    this.rest = window.setTimeout(() => {
      this.rested();
    }, REST);
  }

  show(span: Span): void {
    this.span = span;
    this.moved();
  }

  /** At the middle of what is seen. */
  zoomBy(by: number): void {
    this.zoom(1 / by, (this.gutter + this.width) / 2);
  }

  fit(): void {
    this.show(this.all);
  }

  zoom(factor: number, x: number): void {
    const share = (x - this.gutter) / Math.max(1, this.width - this.gutter);
    this.show(zoomed(this.span, factor, Math.min(1, Math.max(0, share)), this.all));
  }

  pan(dx: number, dy: number): void {
    if (dy !== 0) this.canvases.scrollBy(-dy);
    this.show(panned(this.span, (-dx / Math.max(1, this.width - this.gutter)) * lengthOf(this.span), this.all));
  }

  measure(from: number, to: number): void {
    const scene = this.scene();
    if (!scene) return;
    const [a, b] = [timeAt(scene, from), timeAt(scene, to)];
    this.measured({ from: Math.round(Math.min(a, b)), to: Math.round(Math.max(a, b)) });
  }

  measured(brush: Span | undefined): void {
    this.brush = brush;
    this.invalidate();
    this.context.store.changed();
  }

  centre(share: number): void {
    const middle = this.all.from + share * lengthOf(this.all);
    const half = lengthOf(this.span) / 2;
    this.show(clamped({ from: middle - half, to: middle + half }, this.all));
  }

  private spotAt(x: number, y: number): Spot | undefined {
    const scene = this.scene();
    if (!scene || x < scene.gutter || y < AXIS) return undefined;
    const at = laneAt(this.lanes, y - AXIS + scene.top);
    if (at?.lane.kind !== "strand" || at.depth < 0) return undefined;
    const slackNs = (NEAR * lengthOf(this.span)) / Math.max(1, scene.width - scene.gutter);
    return { strand: at.lane.strand.strand, depth: at.depth, ns: timeAt(scene, x), slackNs };
  }

  /** Moves just so far that the call is seen, and unfolds its process. */
  uncover(call: Pick<TimelineCall, "strand" | "depth" | "fromNs" | "toNs">): void {
    const process = this.result?.strands.find((one) => one.strand === call.strand)?.process;
    const folded = this.lanes.find((one) => one.kind === "process" && one.folded && one.process.process === process);
    if (folded) {
      this.folded = toggleFold(this.folded, folded);
      this.layout();
    }
    const lane = this.lanes.find((one) => one.kind === "strand" && one.strand.strand === call.strand);
    if (lane?.kind === "strand") this.canvases.uncover(lane.top + call.depth * ROW, ROW);
    if (call.toNs < this.span.from || call.fromNs > this.span.to) {
      const half = lengthOf(this.span) / 2;
      this.show(clamped({ from: call.fromNs - half, to: call.fromNs + half }, this.all));
    }
  }

  /** What is folded, or there at all, is another. */
  private layout(): void {
    this.lanes = this.result ? lanes(this.result, this.folded) : [];
    this.moved();
    this.context.store.changed();
  }

  private rested(): void {
    if (!this.result || !this.canvases.isThere) return;
    this.hands.rested(this.span, lengthOf(this.span) >= lengthOf(this.all));
    void this.fetchArrows(this.result);
  }

  private async fetchArrows(of: TimelineResult): Promise<void> {
    const span = this.span;
    const params = {
      run: of.run.id,
      strands: of.strands.map((one) => one.strand),
      fromNs: Math.floor(span.from),
      toNs: Math.ceil(span.to),
      most: MOST_ARROWS,
    };
    const found = await this.context.quietly("clew/timelineArrows", params).catch(() => undefined);
    if (!found || of !== this.result || span !== this.span) return;
    this.arrows = found.arrows;
    this.hiddenArrows = found.hidden;
    this.invalidate();
    this.context.store.changed();
  }

  hover(x: number, y: number): void {
    this.mouse = { x, y };
    window.clearTimeout(this.pointing);
    this.pointing = window.setTimeout(() => {
      this.hands.pointed(this.spotAt(x, y), { x, y });
    }, POINTED);
  }

  leave(): void {
    this.mouse = undefined;
    window.clearTimeout(this.pointing);
    this.hands.pointed(undefined, undefined);
  }

  click(x: number, y: number): void {
    this.hands.clicked(this.spotAt(x, y));
  }

  doubleClick(x: number, y: number): void {
    const spot = this.spotAt(x, y);
    if (spot) this.hands.opened(spot);
  }

  fold(y: number): void {
    const at = laneAt(this.lanes, y - AXIS + this.top);
    if (!at) return;
    this.folded = toggleFold(this.folded, at.lane);
    this.layout();
  }
}
