/**
 * The entities view: entities, their containers and their communication over time, in the chosen drawing.
 *
 * Invariant: the picture shows one moment, which the bar of the player names; the view reports what the picture leaves out.
 */
import { nothing, type TemplateResult } from "lit";
import { Newest } from "../../../shared/newest";
import type { EntitiesResult } from "../../../shared/protocol";
import { canBeSvg } from "../../app/copy/formats";
import { drawingKind, drawingKinds, nextKind } from "./drawings/registry";
import type { DrawingKind } from "./drawings/contract";
import { playerBar } from "./ui/playerBar";
import { summary } from "./ui/card";
import { entityLegend } from "./ui/legend";
import { entitiesEmptyState } from "./ui/emptyState";
import { entityPage } from "./ui/page";
import { entityPickers } from "./ui/pickers";
import { zoomControls } from "../../ui/zoomControls";
import { findOtherWorkspaces } from "../../app/otherWorkspaces";
import type { EntitiesQuestion } from "./question";
import { withoutTime } from "./question";
import { isSame } from "./model/order";
import { LiveEntities } from "./model/source";
import { stepText } from "./model/sentences";
import { EntitiesStage, type StageListener } from "./stage/stage";
import { EntitySelection } from "./ui/selection";
import { ContainerNavigation } from "./container";
import { type KeyTarget, handleKey } from "./keys";
import { loadEntities } from "./load";
import { FramePacing } from "./stage/framePacing";
import { EntityPlayer } from "./player/player";
import type { Context, View } from "../contract";
import type { SelectedEvent, Selection } from "../selection";

/** So much time a single step takes, for what fades. */
const STEP_MS = 350;

export class EntitiesView implements View<EntitiesQuestion, EntitiesResult>, KeyTarget {
  private answer: EntitiesResult | undefined;
  private live = false;
  private readonly newest = new Newest();
  private layout = "";
  private readonly pace = new FramePacing();
  /** The last single step or the visited entity, for screen readers. */
  private heard = "";
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

  private readonly choice: EntitySelection;
  private readonly inside: ContainerNavigation;

  constructor(private readonly context: Context<EntitiesQuestion>) {
    this.choice = new EntitySelection(context, this.player, this.stage, this);
    this.inside = new ContainerNavigation(context, this.player);
  }

  // --- what is asked ---

  async open(question: EntitiesQuestion): Promise<void> {
    const isNewest = this.newest.begin();
    void findOtherWorkspaces((method, params) => this.context.quietly(method, params), this.context.store);
    const { player, stage } = this;
    const selected = player.state.boxes.get(stage.selected);
    const { ns, moment } = player.state;
    const before = { live: this.live, run: this.answer?.run.id, ns, isNewest: moment >= player.moments };
    const { source, live, result, lines, ended } = await loadEntities(this.context, question, before);
    if (!isNewest()) return;
    [this.choice.source, this.live] = [source, live];
    stage.end();
    stage.know(lines);
    this.handle(result);
    if (ended) {
      // What is known of it now has events from which a walk can begin.
      this.choice.renew(result.boxes.find((box) => isSame(box, selected))?.entity ?? -1);
    }
    if (live && question.moment === undefined && question.ns === undefined) player.follow(true);
    const recent = await player.recent();
    if (isNewest() && recent) stage.show(recent);
  }

  handle(result: EntitiesResult): void {
    if (this.answer?.run.id !== result.run.id || this.answer.source !== result.source) this.choose(-1);
    this.answer = result;
    const { source } = this.choice;
    if (source) this.player.begin(source, result);
    this.layout = this.context.question.layout ?? "auto";
    this.stage.begin(this.kind);
    this.choice.search();
    this.changed();
  }

  unhandle(): void {
    this.newest.forget();
    this.answer = undefined;
    this.player.end();
    this.stage.end();
    this.context.store.changed();
  }

  // --- what is played ---

  private changed(): void {
    if (this.player.moves) this.stage.invalidate();
    else this.settled();
    this.choice.ask(false);
    if (this.player.playing === 0) this.context.store.changed();
    else this.pace.take();
  }

  private frame(ms: number): ReturnType<StageListener["frame"]> {
    return this.pace.frame(
      () => this.player.frame(ms),
      () => {
        this.context.store.changed();
      },
    );
  }

  failed(error: unknown): void {
    this.context.store.update({ error: error instanceof Error ? error.message : String(error) });
  }

  /** The address contains the moment of the paused picture. */
  private settled(): void {
    const { moment } = this.player.state;
    if (!this.answer || this.context.store.state.place.view !== "entities") return;
    const { question } = this.context;
    if (question.moment === moment || (question.moment === undefined && moment === this.answer.moment)) return;
    this.context.remember({ ...withoutTime(question), moment });
  }

  async step(by: number): Promise<void> {
    this.stage.pass(STEP_MS);
    const step = await this.player.step(by);
    if (step) this.said(stepText(step, this.player.state.boxes, this.choice.labels()));
  }

  said(words: string): void {
    this.heard = words;
    this.context.store.changed();
  }

  // --- what is selected ---

  select(selection: Selection): void {
    this.choice.select(selection);
  }

  choose(entity: number): void {
    this.choice.choose(entity);
  }

  /** Into a container; of what holds nothing, to its code. */
  enter(entity: number): void {
    const { boxes, moment } = this.player.state;
    if ((boxes.get(entity)?.holds ?? 0) > 0) {
      this.inside.enter(entity);
      return;
    }
    this.choose(entity);
    void this.choice.source?.about(entity, moment).then(({ location }) => {
      this.context.reveal(location);
    });
  }

  out(): void {
    if (this.answer) this.inside.out(this.answer);
  }

  event(): SelectedEvent | undefined {
    return this.choice.event;
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

  found(): { matches: number; all: number } {
    return this.choice.found();
  }

  nextMatch(by: 1 | -1): void {
    this.choice.nextMatch(by);
  }

  focus(): void {
    this.stage.focus();
  }

  shownRun(): string | undefined {
    return this.answer?.run.id;
  }

  key(event: KeyboardEvent): boolean {
    return this.answer !== undefined && handleKey(event, this);
  }

  faster(by: 1 | -1): void {
    this.player.playback.faster(by);
    this.said(this.player.playback.said);
  }

  neighbour(by: 1 | -1): void {
    this.choice.neighbour(by);
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
    const { answer, player, stage } = this;
    if (!answer || (player.moments === 0 && !this.live)) return entitiesEmptyState(answer, this.context.store.state);
    this.choice.searchIfOther();
    // A workspace's own drawings are loaded later than the view that one of them was asked for in.
    if (stage.kind !== this.kind.name) stage.begin(this.kind);
    const { boxes } = player.state;
    return entityPage({
      message: player.state.moment === answer.moment ? answer.message : "",
      attach: this.attach,
      summary: summary(boxes, stage.clarity?.lines ?? 0),
      said: player.playing === 0 ? this.heard : "",
      corners: [this.inside.draw(answer), entityLegend(stage.palette, stage.busiest, boxes), zoomControls(stage)],
      side: this.choice.draw(answer, (entity) => {
        this.enter(entity);
      }),
      clarity: stage.clarity,
      bar: playerBar(player, answer.activity, {
        live: this.live,
        unheard: this.choice.source instanceof LiveEntities ? this.choice.source.unheard : "",
        step: (by) => void this.step(by),
        seek: (share) => {
          const { from, to } = player.playback.span;
          void player.goTo({ ns: from + share * (to - from) });
        },
      }),
    });
  }
}
