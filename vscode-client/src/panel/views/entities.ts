/**
 * Entities: who is where in a run, who talks to whom, and how that goes on, in the drawing that is chosen.
 *
 * Invariant: the picture is of one moment, which the player's bar names; what is left out of it is said.
 */
import { html, nothing, type TemplateResult } from "lit";
import { ref } from "lit/directives/ref.js";
import type { EntitiesResult, EntityBox, EntityResult } from "../../shared/protocol";
import { canBeSvg } from "../copy";
import { AUTO } from "../draw/entities/auto";
import { CONCENTRIC } from "../draw/entities/concentric";
import { FORCE } from "../draw/entities/force";
import type { DrawingKind } from "../draw/entities/module";
import { ownKind } from "../draw/entities/own";
import { UNTANGLED } from "../draw/entities/untangled";
import { entityBar } from "../draw/entityBar";
import { busiest, type CardActions, entityCard, summary } from "../draw/entityCard";
import { entityLegend } from "../draw/entityLegend";
import { icon } from "../draw/icons";
import { asking, emptyState, notice, RECORD_COMMAND } from "../draw/parts";
import { isRun } from "../draw/runs";
import type { EntitiesQuestion } from "../kinds/entities";
import { LiveEntities, RecordedEntities } from "../model/entities/source";
import { ownDrawings } from "../model/entities/own";
import { clarityWords, stepWords } from "../model/entities/words";
import { count } from "../model/format";
import { EntitiesStage } from "./entitiesStage";
import { EntityPlayer } from "./entityPlayer";
import type { Context, SelectedEvent, Selection, View } from "./view";

const DRAWINGS: readonly DrawingKind[] = [AUTO, CONCENTRIC, FORCE, UNTANGLED];
/** So much time a single step takes, for what fades. */
const STEP_MS = 350;
const SHIFTED = 100;
const MORE = 300;
const USUAL_MOST = 300;
const BUSIEST = 40;
/** Between two looks at the selected entity while one plays, in ms. */
const ABOUT_MS = 400;
const CLOSER = 1.3;

export class EntitiesView implements View<EntitiesQuestion, EntitiesResult> {
  private answer: EntitiesResult | undefined;
  private source: RecordedEntities | undefined;
  private live = false;
  private asked = 0;
  private layout = "";
  private searched = "";
  private about: { entity: number; moment: number; result: EntityResult } | undefined;
  private aboutAsked = -Infinity;
  /** The busiest entities, and when that was. */
  private ranked: { at: number; boxes: readonly EntityBox[] } = { at: -Infinity, boxes: [] };
  /** What the last single step was, for who hears the page. */
  private said = "";
  private readonly player = new EntityPlayer({
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
  private readonly stage = new EntitiesStage(this.player.state, {
    frame: (ms) => this.player.frame(ms),
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

  constructor(private readonly context: Context<EntitiesQuestion>) {}

  // --- what is asked ---

  async open(question: EntitiesQuestion): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const { store } = this.context;
    const of = question.run ?? store.state.selectedRun;
    const run = store.state.runs.find((one) => isRun(one, of));
    // A run of another workspace is in no list.
    const listed = run ?? (of ? (await new RecordedEntities(this.context, question).state("end")).run : undefined);
    const live = listed?.finished === false;
    const source = new (live ? LiveEntities : RecordedEntities)(this.context, question);
    const { moment } = question;
    // Once a program has ended, the same time is shown: its moments and entities may have other numbers now.
    const ended = this.live && !live && this.answer !== undefined && this.answer.run.id === listed?.id;
    const selected = ended ? this.player.state.boxes.get(this.stage.selected) : undefined;
    const when = ended ? { ns: this.player.state.ns } : live ? "end" : "fullest";
    const result = await source.state(moment === undefined || ended ? when : { moment });
    // All lines of the run, between those that are there now: so that a picture stays as it is while it is played.
    const known =
      result.moments > 0
        ? await Promise.all([0, result.moments].map((from) => source.way(from, { moment: result.moment })))
        : [];
    if (asked !== this.asked) return;
    [this.source, this.live] = [source, live];
    this.stage.end();
    this.stage.know(known.flatMap(({ lines }) => lines));
    this.handle(result);
    if (ended) {
      // What is known of it now has events from which a walk can begin.
      this.about = undefined;
      this.choose(result.boxes.find((box) => isSame(box, selected))?.entity ?? -1);
    }
    if (live && moment === undefined) this.player.follow(true);
    const recent = await this.player.recent();
    if (asked === this.asked && recent) this.stage.show(recent);
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
    if (this.player.playing !== 0 || this.player.following) this.stage.invalidate();
    else this.settled();
    void this.askAbout(false);
    this.context.store.changed();
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
    this.context.remember({ ...question, moment });
  }

  private async step(by: number): Promise<void> {
    this.stage.pass(STEP_MS);
    const step = await this.player.step(by);
    if (step) this.say(stepWords(step, this.player.state.boxes));
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

  private choose(entity: number): void {
    this.stage.selected = entity;
    if (entity < 0) this.about = undefined;
    else void this.askAbout(true);
    this.stage.invalidate();
    this.context.store.changed();
  }

  /** Asks for the selected entity at the present moment, while one plays now and then. */
  private async askAbout(now: boolean): Promise<void> {
    const { selected: entity } = this.stage;
    const { moment } = this.player.state;
    if (entity < 0 || !this.source || (this.about?.entity === entity && this.about.moment === moment)) return;
    const playing = this.player.playing !== 0 || this.player.following;
    if (!now && playing && performance.now() - this.aboutAsked < ABOUT_MS) return;
    this.aboutAsked = performance.now();
    const result = await this.source.about(entity, moment).catch(() => undefined);
    if (!result || this.stage.selected !== entity) return;
    this.about = { entity, moment, result };
    this.context.store.changed();
  }

  /** Into a container; of what holds nothing, to its code. */
  private enter(entity: number): void {
    const box = this.player.state.boxes.get(entity);
    if (box && box.holds > 0) {
      this.ask({ inside: entity, ...this.now });
      return;
    }
    this.choose(entity);
    void this.source?.about(entity, this.player.state.moment).then(({ location }) => {
      this.context.reveal(location);
    });
  }

  private out(): void {
    const around = this.answer?.around ?? [];
    if (around.length > 0) this.leaveTo(around.at(-2)?.entity);
  }

  private leaveTo(entity: number | undefined): void {
    const { inside: _left, ...rest } = this.context.question;
    this.context.ask({ ...rest, ...this.now, ...(entity === undefined ? {} : { inside: entity }) });
  }

  /** The moment to go on at: what follows a program goes on to do so. */
  private get now(): Pick<EntitiesQuestion, "moment"> {
    return this.player.following ? {} : { moment: this.player.state.moment };
  }

  private ask(change: Partial<EntitiesQuestion>): void {
    this.context.ask({ ...this.context.question, ...change });
  }

  event(): SelectedEvent | undefined {
    const event = this.about?.result.event ?? -1;
    return event >= 0 ? { event } : undefined;
  }

  // --- drawings and search ---

  private get kinds(): readonly DrawingKind[] {
    return [...DRAWINGS, ...ownDrawings().map(ownKind)];
  }

  private get kind(): DrawingKind {
    return this.kinds.find((one) => one.name === this.layout) ?? AUTO;
  }

  private draws(layout: string): void {
    this.layout = layout;
    this.stage.begin(this.kind);
    this.context.remember({ ...this.context.question, layout });
  }

  private search(): void {
    const { search } = this.context.store.state.place;
    this.searched = search;
    const wanted = search.trim().toLowerCase();
    this.stage.lit = wanted
      ? new Set(
          [...this.player.state.boxes.values()]
            .filter(({ name }) => name.toLowerCase().includes(wanted))
            .map(({ entity }) => entity),
        )
      : undefined;
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
    if (among.length === 0) return;
    const at = among.indexOf(this.stage.selected);
    const next = among[(at < 0 ? (by > 0 ? 0 : -1) : at + by + among.length) % among.length] ?? among.at(-1) ?? -1;
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
    if (!this.answer) return false;
    const { player, stage } = this;
    const { key, shiftKey, target } = event;
    // A button that has the focus is pressed by these.
    if ((key === " " || key === "Enter") && target instanceof HTMLButtonElement) return false;
    const many = shiftKey ? SHIFTED : 1;
    const acts: Record<string, () => void> = {
      " ": () => {
        if (player.playing !== 0 || player.following) player.pause();
        else player.play(shiftKey ? -1 : 1);
      },
      ArrowLeft: () => void this.step(-many),
      ArrowRight: () => void this.step(many),
      ArrowUp: () => { this.chooseOf(this.inOrder(), -1); },
      ArrowDown: () => { this.chooseOf(this.inOrder(), 1); },
      Home: () => void player.goTo({ moment: 0 }),
      End: () => void player.goTo({ moment: player.moments }),
      "<": () => { this.faster(-1); },
      ">": () => { this.faster(1); },
      Enter: () => { if (stage.selected >= 0) this.enter(stage.selected); },
      Backspace: () => { this.out(); },
      l: () => {
        const names = this.kinds.map(({ name }) => name);
        this.draws(names[(names.indexOf(this.layout) + 1) % names.length] ?? "auto");
      },
      f: () => { stage.fit(); },
      "+": () => { stage.zoom(CLOSER); },
      "=": () => { stage.zoom(CLOSER); },
      "-": () => { stage.zoom(1 / CLOSER); },
      Escape: () => { this.choose(-1); },
    }; // prettier-ignore
    const act = acts[key];
    act?.();
    return act !== undefined;
  }

  private faster(by: 1 | -1): void {
    this.player.playback.faster(by);
    this.say(this.player.playback.said);
  }

  /** Each container before what is in it. */
  private inOrder(): number[] {
    const inside = new Map<number, EntityBox[]>();
    for (const box of this.player.state.boxes.values()) {
      const container = this.player.state.boxes.has(box.container) ? box.container : -1;
      inside.set(container, [...(inside.get(container) ?? []), box]);
    }
    const found: number[] = [];
    const walk = (container: number): void => {
      for (const box of inside.get(container) ?? []) {
        found.push(box.entity);
        walk(box.entity);
      }
      inside.delete(container);
    };
    walk(-1);
    return found;
  }

  /** One and the same at each drawing: another one would be a new element to what calls it. */
  private readonly attach = (element: Element | undefined): void => {
    this.stage.attach(element);
    if (element) canBeSvg(element, () => this.stage.svg());
  };

  // --- what is drawn around the canvases ---

  controls(): TemplateResult | typeof nothing {
    if (!this.answer) return nothing;
    const chosen = this.layout;
    const { said } = this.stage;
    return html`<label class="picker" title=${this.kind.hint}
        ><span class="word">Layout</span>
        <select
          aria-label="Layout"
          @change=${(event: Event) => {
            this.draws((event.target as HTMLSelectElement).value);
          }}
        >
          ${this.kinds.map(
            (one) =>
              html`<option value=${one.name} .selected=${one.name === chosen}>
                ${one.title}${one.name === chosen && said ? `: ${said}` : ""}
              </option>`,
          )}
        </select></label
      >
      <label class="picker"
        ><span class="word">Of</span>
        <select
          aria-label="Which entities"
          @change=${(event: Event) => {
            const source = (event.target as HTMLSelectElement).value === "spec" ? "spec" : "strands";
            const { run, layout } = this.context.question;
            this.context.ask({ source, ...(run ? { run } : {}), ...(layout ? { layout } : {}) });
          }}
        >
          <option value="spec" .selected=${this.answer.source === "spec"}>the spec's entities</option>
          <option value="strands" .selected=${this.answer.source === "strands"}>processes, threads, tasks</option>
        </select></label
      >`;
  }

  draw(): TemplateResult {
    const { busy, runs, runsKnown, place } = this.context.store.state;
    if (runsKnown && runs.length === 0) {
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
    const lines = stage.clarity?.lines ?? 0;
    return html`<div class="view entities">
      ${answer.message ? notice("info", answer.message) : nothing}
      <div class="entities-body">
        <div class="entities-stage" ${ref(this.attach)}>
          <canvas aria-hidden="true"></canvas>
          <canvas aria-hidden="true"></canvas>
          <canvas
            class="front"
            tabindex="0"
            role="application"
            aria-roledescription="picture of entities"
            aria-label=${`${summary(boxes, lines)}. Left and right: back and forward in time; up and down: from entity to entity.`}
          ></canvas>
          ${this.drawWhere(answer)} ${entityLegend(stage.palette, stage.busiest, boxes)} ${this.drawZoom()}
        </div>
        <aside class="side entities-side">
          <div class="reading">${this.drawSide(answer)}</div>
        </aside>
      </div>
      ${this.drawFigures()}
      ${entityBar(player, answer.activity, {
        live: this.live,
        step: (by) => void this.step(by),
        seek: (share) => {
          const { from, to } = player.playback.span;
          void player.goTo({ ns: from + share * (to - from) });
        },
      })}
      <p class="unseen" role="status">${player.playing === 0 ? this.said : ""}</p>
    </div>`;
  }

  private drawWhere({ around, hidden, boxes }: EntitiesResult): TemplateResult | typeof nothing {
    const inside = around.at(-1);
    if (!inside && hidden === 0) return nothing;
    return html`<nav class="entities-where" aria-label="Which container is shown">
      ${
        inside
          ? html`<button type="button" class="link" @click=${() => { this.leaveTo(undefined); }}>All</button>
              ${around.map((one) =>
                one === inside
                  ? html` › <b>${one.name}</b>`
                  : html` › <button type="button" class="link" @click=${() => { this.leaveTo(one.entity); }}>${one.name}</button>`,
              )}`
          : nothing
      }
      ${
        hidden > 0
          ? html`<span class="muted">${count(hidden, "more")} that hold least are left out</span>
              <button type="button" class="link" @click=${() => { this.ask({ most: Math.max(boxes.length, this.context.question.most ?? USUAL_MOST) + MORE }); }}>
                Show more
              </button>`
          : nothing
      }
    </nav>`; // prettier-ignore
  }

  private drawZoom(): TemplateResult {
    const { stage } = this;
    const button = (name: "minus" | "plus" | "fit", title: string, run: () => void): TemplateResult =>
      html`<button type="button" title=${title} aria-label=${title} @click=${run}>${icon(name)}</button>`;
    return html`<div class="graph-controls" role="toolbar" aria-label="Zoom">
      ${button("minus", "Zoom out (−)", () => { stage.zoom(1 / CLOSER); })}
      ${button("plus", "Zoom in (+)", () => { stage.zoom(CLOSER); })}
      ${button("fit", "Show all (f)", () => { stage.fit(); })}
    </div>`; // prettier-ignore
  }

  private drawSide(answer: EntitiesResult): TemplateResult {
    const { boxes } = this.player.state;
    const run = answer.run.id;
    const act: CardActions = {
      workspace: this.context.store.state.workspace,
      reveal: (location) => { this.context.reveal(location); },
      select: (entity) => { this.choose(entity); this.stage.uncover(entity); },
      enter: (entity) => { this.enter(entity); },
      goTo: (moment) => void this.player.goTo({ moment }),
      walk: (event) => { this.context.go("walk", { target: { event }, run }); },
      why: (event) => { this.context.go("slice", { target: { event }, run }); },
      close: () => { this.choose(-1); },
    }; // prettier-ignore
    if (this.about && this.stage.selected >= 0) {
      return entityCard(this.about.result, this.about.entity, answer.fromNs, act);
    }
    const now = performance.now();
    const playing = this.player.playing !== 0 || this.player.following;
    // Faster than that nobody reads, and a table takes longer to draw than a frame has.
    if (!playing || now - this.ranked.at > ABOUT_MS) this.ranked = { at: now, boxes: busiestOf(boxes.values()) };
    return busiest(this.ranked.boxes.slice(0, BUSIEST), act);
  }

  private drawFigures(): TemplateResult | typeof nothing {
    const { clarity } = this.stage;
    if (!clarity) return nothing;
    const { short, long } = clarityWords(clarity);
    return html`<p class="entities-figures muted" title=${long}>${short}</p>`;
  }
}

function busiestOf(boxes: Iterable<EntityBox>): EntityBox[] {
  const traffic = (box: EntityBox): number => box.sent + box.received;
  return [...boxes]
    .filter((box) => traffic(box) > 0 || box.holds === 0)
    .sort((a, b) => traffic(b) - traffic(a) || a.entity - b.entity);
}

function isSame(box: EntityBox, other: EntityBox | undefined): boolean {
  return box.name === other?.name && box.kind === other.kind;
}
