/**
 * Entities: who is where in a run, who talks to whom, and how that goes on, in the drawing that is chosen.
 *
 * Invariant: the picture is of one moment, which the player's bar names; what is left out of it is said.
 */
import { html, nothing, type TemplateResult } from "lit";
import type { EntitiesResult } from "../../shared/protocol";
import { canBeSvg } from "../copy";
import { drawingKind, drawingKinds, nextKind } from "../draw/entities/kinds";
import type { DrawingKind } from "../draw/entities/module";
import { entityBar } from "../draw/entityBar";
import { type CardActions, summary } from "../draw/entityCard";
import { entityLegend } from "../draw/entityLegend";
import { entityPage } from "../draw/entityPage";
import { entityPickers } from "../draw/entityPickers";
import { entityWhere } from "../draw/entityWhere";
import { asking, emptyState, RECORD_COMMAND } from "../draw/parts";
import { zoomControls } from "../draw/zoomControls";
import type { EntitiesQuestion } from "../kinds/entities";
import { untimed } from "../model/entities/moment";
import { inOrder, isSame, named, neighbourOf } from "../model/entities/order";
import type { RecordedEntities } from "../model/entities/source";
import { stepWords } from "../model/entities/words";
import { aroundQuestion } from "../model/timeline";
import { EntitiesStage, type Watching } from "./entitiesStage";
import { type KeyedView, pressed } from "./entityKeys";
import { opened } from "./entityOpening";
import { EntityPlayer } from "./entityPlayer";
import { EntitySide } from "./entitySide";
import type { Context, SelectedEvent, Selection, View } from "./view";

/** So much time a single step takes, for what fades. */
const STEP_MS = 350;
const MORE = 300;
const USUAL_MOST = 300;

export class EntitiesView implements View<EntitiesQuestion, EntitiesResult>, KeyedView {
  private answer: EntitiesResult | undefined;
  private source: RecordedEntities | undefined;
  private live = false;
  private asked = 0;
  private layout = "";
  private searched = "";
  /** Frames in which something was taken of what is played, and the last after which the page shows it. */
  private readonly taken = { frames: 0, shown: 0 };
  /** What the last single step was, for who hears the page. */
  private said = "";
  readonly player = new EntityPlayer({
    handle: (step) => {
      this.stage.handle(step);
    },
    unhandle: (step) => {
      this.stage.unhandle(step);
    },
    jump: (step, forward, recent) => {
      this.stage.jump(step, forward);
      if (recent) this.stage.show(recent);
    },
    changed: () => {
      this.changed();
    },
    failed: (error) => {
      this.failed(error);
    },
  });
  readonly stage = new EntitiesStage(this.player.state, {
    frame: (ms) => this.frame(ms),
    changed: () => {
      this.changed();
    },
    chosen: (entity) => {
      this.choose(entity);
    },
    opened: (entity) => {
      this.enter(entity);
    },
    failed: (error) => {
      this.failed(error);
    },
  });

  private readonly side = new EntitySide(this.player, () => {
    this.context.store.changed();
  });

  constructor(private readonly context: Context<EntitiesQuestion>) {}

  // --- what is asked ---

  async open(question: EntitiesQuestion): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    void this.lookElsewhere();
    const { player, stage } = this;
    const selected = player.state.boxes.get(stage.selected);
    const { ns, moment } = player.state;
    const before = { live: this.live, run: this.answer?.run.id, ns, isNewest: moment >= player.moments };
    const { source, live, result, lines, ended } = await opened(this.context, question, before);
    if (asked !== this.asked) return;
    [this.source, this.live] = [source, live];
    stage.end();
    stage.know(lines);
    this.handle(result);
    if (ended) {
      // What is known of it now has events from which a walk can begin.
      this.side.forget();
      this.choose(result.boxes.find((box) => isSame(box, selected))?.entity ?? -1);
    }
    if (live && question.moment === undefined && question.ns === undefined) player.follow(true);
    const recent = await player.recent();
    if (asked === this.asked && recent) stage.show(recent);
  }

  /** Which other programs could be watched. */
  private async lookElsewhere(): Promise<void> {
    const { elsewhere } = await this.context.quietly("clew/runs", { elsewhere: true }).catch(() => ({ elsewhere: [] }));
    this.context.store.update({ elsewhere });
  }

  handle(result: EntitiesResult): void {
    if (this.answer?.run.id !== result.run.id || this.answer.source !== result.source) this.choose(-1);
    this.answer = result;
    if (this.source) this.player.begin(this.source, result);
    this.layout = this.context.question.layout ?? "auto";
    this.stage.begin(this.kind);
    this.search();
    this.changed();
  }

  unhandle(): void {
    this.asked += 1;
    this.answer = undefined;
    this.player.end();
    this.stage.end();
    this.context.store.changed();
  }

  // --- what is played ---

  private changed(): void {
    if (this.player.moves) this.stage.invalidate();
    else this.settled();
    this.askAbout(false);
    if (this.player.playing === 0) this.context.store.changed();
    else this.taken.frames += 1;
  }

  /** What is played is in the picture at once, on the page in the next frame, and lines are painted after that: all of it takes longer than one has. */
  private frame(ms: number): ReturnType<Watching["frame"]> {
    const { taken } = this;
    const isLate = taken.shown < taken.frames;
    const before = (taken.shown = taken.frames);
    const plays = this.player.frame(ms);
    if (isLate) this.context.store.changed();
    return { plays, isFull: isLate || taken.frames > before };
  }

  private failed(error: unknown): void {
    this.context.store.update({ error: error instanceof Error ? error.message : String(error) });
  }

  /** The address has the moment at which the picture stands still. */
  private settled(): void {
    const { moment } = this.player.state;
    if (!this.answer || this.context.store.state.place.view !== "entities") return;
    const { question } = this.context;
    if (question.moment === moment || (question.moment === undefined && moment === this.answer.moment)) return;
    this.context.remember({ ...untimed(question), moment });
  }

  async step(by: number): Promise<void> {
    this.stage.pass(STEP_MS);
    const step = await this.player.step(by);
    if (step) this.say(stepWords(step, this.player.state.boxes, this.side.labels()));
  }

  private say(said: string): void {
    this.said = said;
    this.context.store.changed();
  }

  // --- what is selected ---

  select({ label }: Selection): void {
    const found = [...this.player.state.boxes.values()].find(
      (box) => box.name === label || label.endsWith(`:${box.name}`),
    );
    if (found) this.choose(found.entity);
  }

  choose(entity: number): void {
    this.stage.selected = entity;
    if (entity < 0) this.side.forget();
    else this.askAbout(true);
    this.stage.invalidate();
    this.context.store.changed();
  }

  private askAbout(now: boolean): void {
    void this.side.ask(this.source, () => this.stage.selected, now);
  }

  /** Into a container; of what holds nothing, to its code. */
  enter(entity: number): void {
    const box = this.player.state.boxes.get(entity);
    if (box && box.holds > 0) {
      this.context.ask({ ...untimed(this.context.question), inside: entity, ...this.now });
      return;
    }
    this.choose(entity);
    void this.source?.about(entity, this.player.state.moment).then(({ location }) => {
      this.context.reveal(location);
    });
  }

  out(): void {
    const around = this.answer?.around ?? [];
    if (around.length > 0) this.leaveTo(around.at(-2)?.entity);
  }

  private leaveTo(entity: number | undefined): void {
    const { inside: _left, ...rest } = untimed(this.context.question);
    this.context.ask({ ...rest, ...this.now, ...(entity === undefined ? {} : { inside: entity }) });
  }

  /** The moment to go on at: what follows a program goes on to do so. */
  private get now(): Pick<EntitiesQuestion, "moment"> {
    return this.player.following ? {} : { moment: this.player.state.moment };
  }

  event(): SelectedEvent | undefined {
    const { event } = this.side;
    return event >= 0 ? { event } : undefined;
  }

  // --- drawings and search ---

  private get kind(): DrawingKind {
    return drawingKind(this.layout);
  }

  private draws(layout: string): void {
    this.layout = layout;
    this.stage.begin(this.kind);
    this.context.remember({ ...this.context.question, layout });
  }

  private search(): void {
    const { search } = this.context.store.state.place;
    this.searched = search;
    this.stage.lit = search.trim() ? named(this.player.state.boxes, search) : undefined;
    this.stage.redraw();
  }

  found(): { matches: number; all: number } {
    const all = this.player.state.boxes.size;
    return { matches: this.stage.lit?.size ?? all, all };
  }

  nextMatch(by: 1 | -1): void {
    const among = [...(this.stage.lit ?? this.player.state.boxes.keys())];
    this.chooseOf(among, by);
  }

  private chooseOf(among: readonly number[], by: 1 | -1): void {
    const next = neighbourOf(among, this.stage.selected, by);
    if (next === undefined) return;
    this.choose(next);
    this.stage.uncover(next);
  }

  focus(): void {
    this.stage.focus();
  }

  shownRun(): string | undefined {
    return this.answer?.run.id;
  }

  key(event: KeyboardEvent): boolean {
    return this.answer !== undefined && pressed(event, this);
  }

  faster(by: 1 | -1): void {
    this.player.playback.faster(by);
    this.say(this.player.playback.said);
  }

  neighbour(by: 1 | -1): void {
    this.chooseOf(inOrder(this.player.state.boxes), by);
  }

  nextLayout(): void {
    this.draws(nextKind(this.layout).name);
  }

  /** One and the same at each drawing: another one would be a new element to what calls it. */
  private readonly attach = (element: Element | undefined): void => {
    this.stage.attach(element);
    if (element) canBeSvg(element, () => this.stage.svg());
  };

  // --- what is drawn around the canvases ---

  controls(): TemplateResult | typeof nothing {
    if (!this.answer) return nothing;
    const { kind, stage } = this;
    const draws = (layout: string): void => {
      this.draws(layout);
    };
    return entityPickers({ kinds: drawingKinds(), kind, said: stage.said }, this.answer.source, draws, (source) => {
      const { run, layout } = this.context.question;
      this.context.ask({ source, ...(run ? { run } : {}), ...(layout ? { layout } : {}) });
    });
  }

  draw(): TemplateResult {
    const { busy, runs, runsKnown, place } = this.context.store.state;
    if (runsKnown && runs.length === 0 && !this.answer) {
      return html`<div class="view">
        ${emptyState("No run yet", "Record your program in a terminal, then come back:", RECORD_COMMAND)}
      </div>`;
    }
    const { answer, player, stage } = this;
    if (!answer) return html`<div class="view">${busy > 0 ? asking("Finding who is where …") : nothing}</div>`;
    if (player.moments === 0 && !this.live) {
      const why = answer.message || "Nothing of entities, threads or tasks was recorded.";
      return html`<div class="view">${emptyState("Nobody to show", why)}</div>`;
    }
    if (place.search !== this.searched) this.search();
    // A workspace's own drawings are loaded later than the view that one of them was asked for in.
    if (stage.kind !== this.kind.name) stage.begin(this.kind);
    const { boxes } = player.state;
    return entityPage({
      message: player.state.moment === answer.moment ? answer.message : "",
      attach: this.attach,
      summary: summary(boxes, stage.clarity?.lines ?? 0),
      said: player.playing === 0 ? this.said : "",
      corners: [this.drawWhere(answer), entityLegend(stage.palette, stage.busiest, boxes), zoomControls(stage)],
      side: this.drawSide(answer),
      clarity: stage.clarity,
      bar: entityBar(player, answer.activity, {
        live: this.live,
        step: (by) => void this.step(by),
        seek: (share) => {
          const { from, to } = player.playback.span;
          void player.goTo({ ns: from + share * (to - from) });
        },
      }),
    });
  }

  private drawWhere(answer: EntitiesResult): TemplateResult | typeof nothing {
    const goTo = (container: number | undefined): void => {
      this.leaveTo(container);
    };
    return entityWhere(answer, goTo, () => {
      const { question } = this.context;
      this.context.ask({ ...question, most: Math.max(answer.boxes.length, question.most ?? USUAL_MOST) + MORE });
    });
  }

  private drawSide(answer: EntitiesResult): TemplateResult {
    const run = answer.run.id;
    const act: CardActions = {
      workspace: this.context.store.state.workspace,
      reveal: (location) => { this.context.reveal(location); },
      select: (entity) => { this.choose(entity); this.stage.uncover(entity); },
      enter: (entity) => { this.enter(entity); },
      goTo: (moment) => void this.player.goTo({ moment }),
      follow: (view) => {
        this.side.origin(this.source, run).then((found) => {
          if (found) this.context.go(view, { target: { event: found.event }, run: found.run });
        }, (error: unknown) => { this.failed(error); });
      },
      timeline: () => { this.context.go("timeline", aroundQuestion(run, this.player.state.ns, answer)); },
      close: () => { this.choose(-1); },
    }; // prettier-ignore
    return this.side.draw(answer, this.stage.selected, act);
  }
}
