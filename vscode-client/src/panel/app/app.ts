/**
 * The panel: connects transport, store and views, and carries out the actions outside of the views.
 *
 * Invariant: exactly one view is shown, the view of the store's place. The saved state is always that place.
 */
import { render } from "lit";
import type { HostMessage, Location, Method, Methods, RunGrew } from "../../shared/protocol";
import { Requests } from "./requests";
import { CopyController } from "./copy/controller";
import { findOtherWorkspaces } from "./otherWorkspaces";
import { type KeyActions, Keys } from "./keys";
import { Newest } from "../../shared/newest";
import type { SettingsMessage, WalkedMessage } from "../../shared/wire";
import { drawPage, type PageActions } from "./page/page";
import { isRun } from "../ui/runs";
import { showMarkedLine } from "./page/sourceDrawer";
import { loadCustomViews } from "../views/custom/loader";
import {
  askedOf,
  decode,
  DEFAULT_MAX_NODES,
  encode,
  CUSTOM_PREFIX,
  type Place,
  sameQuestion,
  startingPlace,
} from "./place";
import { current, replaced, stepped, extended, startTrail, type Trail } from "./trail";
import { type SharedState, Store } from "./store";
import type { Transport } from "./transport";
import { Walker } from "./walker";
import type { Context, View, ViewManifest } from "../views/contract";
import type { ViewRegistry } from "../views/registry";

/** What may be chosen before the server has said what there is. */
const LEVELS = ["function", "class", "module", "component", "task", "thread", "process", "machine"];
const SOURCE_CONTEXT = 12;

export class Panel implements PageActions, KeyActions {
  readonly store: Store;
  readonly copying: CopyController;
  levels: readonly string[] = LEVELS;
  trail: Trail = startTrail("");
  readonly walker: Walker;
  private readonly views = new Map<string, View>();
  private readonly asking: Requests;
  private readonly newestRuns = new Newest();
  private readonly newestCursor = new Newest();
  private readonly newestSource = new Newest();
  /** Listeners for growing live runs. */
  private readonly growing = new Set<(growth: RunGrew) => void>();
  private readonly newestQuestion = new Newest();
  /** Did the host or the user name a place already? Then the saved one is not asked for. */
  private named = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly transport: Transport,
    private readonly registry: ViewRegistry,
  ) {
    this.store = new Store(DEFAULT_MAX_NODES, startingPlace(registry.all));
    this.walker = this.makeWalker();
    this.asking = new Requests(this.store, transport);
    this.copying = new CopyController(this.store, root, !transport.hasEditor);
    this.store.subscribe(() => {
      this.render();
    });
  }

  /** Shows the saved place, then listens to the host, whose first wish may be another place. */
  async start(): Promise<void> {
    const keys = new Keys(this);
    document.addEventListener("keydown", (event) => {
      keys.press(event);
    });
    this.transport.onNavigate((trail) => {
      this.arrive(trail);
    });
    this.trail = this.transport.saved() ?? this.trail;
    if (current(this.trail)) this.store.update({ place: decode(current(this.trail), this.manifests) });
    this.render();
    this.transport.listen((message) => void this.receive(message));
    void this.loadCustom();
    await this.loadRuns();
    // What was asked for before the runs were known may have waited for them.
    if (!this.named || (this.store.state.busy === 0 && this.view?.shownRun() === undefined)) await this.ask();
  }

  /** The view that is shown, once it is loaded. */
  get view(): View | undefined {
    return this.views.get(this.store.state.place.view);
  }

  get manifests(): readonly ViewManifest[] {
    return this.registry.all;
  }

  get manifest(): ViewManifest | undefined {
    return this.registry.find(this.store.state.place.view);
  }

  /** The run that the present view shows, or will show: by id or name. */
  get run(): string {
    const { place, selectedRun } = this.store.state;
    const { manifest } = this;
    return [this.view?.shownRun(), manifest?.askedRun(askedOf(place, manifest)), selectedRun].find(Boolean) ?? "";
  }

  go(view: string, question: object): void {
    const { place } = this.store.state;
    this.goTo({ ...place, view, asked: { ...place.asked, [view]: question } });
  }

  look(change: Partial<Place>): void {
    this.store.updatePlace(change);
    this.trail = replaced(this.trail, encode(this.store.state.place, this.manifests));
    this.transport.save(this.trail, false);
  }

  showView(name: string): void {
    const { place } = this.store.state;
    const next = this.registry.find(name);
    const { manifest } = this;
    if (!next || !manifest) return;
    const { walk } = this.store.state;
    this.go(name, next.following?.(manifest.name, askedOf(place, manifest), walk) ?? askedOf(place, next));
  }

  /** Undoes (-1) or redoes (1) steps from place to place. */
  move(by: number): void {
    const trail = stepped(this.trail, by);
    if (trail && !this.transport.navigate(by)) {
      this.arrive(trail);
      this.transport.save(trail, false);
    }
  }

  lookElsewhere(): void {
    void findOtherWorkspaces((method, params) => this.transport.request(method, params), this.store);
  }

  async pickRun(run: string): Promise<void> {
    const { place, otherWorkspaces } = this.store.state;
    const { manifest } = this;
    // A run of another workspace is not among the runs that all views and the editor share.
    if (manifest?.inRun && otherWorkspaces.some((one) => one.id === run)) {
      this.go(manifest.name, manifest.inRun(askedOf(place, manifest), run));
      return;
    }
    this.changeRun(run);
    this.asking.forget();
    try {
      const { runs, selected } = await this.request("clew/selectRun", { run });
      this.store.update({ runs, selectedRun: selected });
    } catch (error) {
      this.store.update({ error: messageOf(error) });
    }
  }

  get state(): Readonly<SharedState> {
    return this.store.state;
  }

  stop(): void {
    this.asking.stop();
  }

  dismiss(note: string): void {
    this.store.update({ notes: this.store.state.notes.filter((one) => one !== note) });
  }

  tryAgain(): void {
    this.asking.forget();
    void this.loadRuns().then(() => this.ask());
  }

  closeSource(): void {
    this.newestSource.forget();
    this.store.update({ source: undefined });
  }

  closeCopying(): void {
    this.copying.close();
  }

  forgetSearch(): void {
    this.look({ search: "" });
  }

  focusSearch(): void {
    this.root.querySelector<HTMLInputElement>("#search")?.focus();
  }

  walkFromSelected(): void {
    void this.startWalk();
  }

  showHelp(helpShown: boolean): void {
    this.store.update({ helpShown });
    if (helpShown) requestAnimationFrame(() => this.root.querySelector<HTMLElement>(".help .close")?.focus());
  }

  private goTo(place: Place): void {
    this.named = true;
    const before = this.store.state.place;
    const isNew = !sameQuestion(before, place, this.manifests);
    this.store.update({ place });
    this.trail = (isNew && current(this.trail) ? extended : replaced)(this.trail, encode(place, this.manifests));
    this.transport.save(this.trail, isNew);
    void this.ask();
  }

  private arrive(trail: Trail): void {
    this.trail = trail;
    this.store.update({ place: decode(current(trail), this.manifests, this.store.state.place) });
    void this.ask(true);
  }

  private async request<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    ofQuestion = false,
  ): Promise<Methods[M]["result"]> {
    const result = await this.asking.request(method, params, ofQuestion);
    if ("levels" in result && result.levels.length > 0) this.levels = result.levels;
    return result;
  }

  /** Asks the shown view the place's question; `recall`: an answer that is still there will do. */
  private async ask(recall = false): Promise<void> {
    const { manifest } = this;
    if (!manifest) return;
    const isNewest = this.newestQuestion.begin();
    this.asking.begin();
    this.store.update({ error: "" });
    try {
      const view = this.views.get(manifest.name) ?? (await this.load(manifest));
      if (!isNewest()) return;
      this.asking.recalling = recall;
      await view.open(askedOf(this.store.state.place, manifest));
    } catch (error) {
      if (!isNewest()) return;
      this.views.get(manifest.name)?.unhandle();
      this.store.update({ error: messageOf(error) });
    } finally {
      if (isNewest()) this.asking.recalling = false;
    }
  }

  private makeWalker(): Walker {
    return new Walker({
      store: this.store,
      ask: (params) => this.request("clew/walk", params),
      show: (walk) => {
        if (!this.transport.walked(walk)) this.reveal(walk?.result.card?.location ?? null);
      },
      select: (selection) => this.view?.select(selection),
    });
  }

  private async load(manifest: ViewManifest): Promise<View> {
    const view = await manifest.make(this.contextOf(manifest)).catch((error: unknown) => {
      throw new Error(`The view “${manifest.title}” could not be loaded (${messageOf(error)}). Reload the panel.`);
    });
    // Asked for twice at once, the first one that was made is shown.
    const made = this.views.get(manifest.name) ?? view;
    this.views.set(manifest.name, made);
    this.store.changed();
    return made;
  }

  private contextOf(manifest: ViewManifest): Context {
    const { store } = this;
    const { walker } = this;
    const question = (): object => askedOf(store.state.place, manifest);
    return {
      store,
      walker,
      get question() {
        return question();
      },
      request: (method, params) => this.request(method, params, true),
      quietly: (method, params, signal) => this.transport.request(method, params, signal),
      reveal: (location) => {
        this.reveal(location);
      },
      ask: (asked) => {
        this.go(manifest.name, asked);
      },
      go: (view, asked) => {
        this.open(view, asked);
      },
      has: (view) => this.registry.find(view) !== undefined,
      remember: (asked) => {
        this.look({ asked: { ...store.state.place.asked, [manifest.name]: asked } });
      },
      look: (change) => {
        this.look(change);
      },
      followRuns: (listener) => {
        this.growing.add(listener);
        return () => this.growing.delete(listener);
      },
    };
  }

  private open(view: string, params: unknown): void {
    const manifest = this.registry.find(view);
    if (manifest) this.go(view, manifest.question.valid(params));
    else this.store.update({ error: `There is no view called “${view}”.` });
  }

  private reveal(location: Location | null): void {
    if (!location) return;
    if (this.transport.hasEditor) this.transport.reveal(location, this.run);
    else void this.showSource(location);
  }

  private async startWalk(): Promise<void> {
    const selected = this.view?.event?.();
    if (!selected) return;
    try {
      await this.walker.start({ target: { event: selected.event }, run: selected.run ?? this.run });
    } catch (error) {
      this.store.update({ error: messageOf(error) });
    }
  }

  private async loadRuns(): Promise<void> {
    try {
      const found = await this.newestRuns.of(this.request("clew/runs", {}));
      if (!found) return;
      const { runs, selected, baseline, workspace } = found;
      this.store.update({ runs, selectedRun: selected, baseline, workspace, runsKnown: true });
    } catch (error) {
      this.store.update({ error: messageOf(error) });
    }
  }

  /** The workspace's own views. One that was asked for before it was there is asked now. */
  private async loadCustom(): Promise<void> {
    try {
      const [base, found] = await Promise.all([this.transport.views, this.transport.request("clew/views", {})]);
      this.store.update({ notes: await loadCustomViews(this.registry, base, found) });
    } catch {
      // Whatever is wrong with the server, the question that is asked of it says.
    }
    const { place } = this.store.state;
    if (this.views.has(place.view) || !place.view.startsWith(CUSTOM_PREFIX)) return;
    if (this.manifest) {
      this.store.update({ place: decode(current(this.trail), this.manifests, place) });
      await this.ask();
    } else this.store.update({ error: `There is no view called “${place.view}” in this workspace.` });
  }

  private async receive(message: HostMessage | SettingsMessage | WalkedMessage): Promise<void> {
    switch (message.type) {
      case "settings":
        this.store.update({ maxNodes: message.maxNodes });
        break;
      case "open":
        this.open(message.view, message.params);
        break;
      case "walked":
        this.walker.adopt(message.walk);
        break;
      case "cursor":
        await this.followCursor(message.location);
        break;
      case "runsChanged":
        await this.runsChanged();
        break;
      case "runGrew":
        for (const listener of this.growing) listener(message.growth);
    }
  }

  private async followCursor(location: Location): Promise<void> {
    const run = this.run;
    try {
      const asked = this.transport.request("clew/locate", { location, ...(run ? { run } : {}) });
      const found = await this.newestCursor.of(asked);
      if (found?.function) this.view?.select({ label: found.function, location: found.location });
    } catch {
      // The cursor moved on its own: nothing was asked, so there is nothing to complain of.
    }
  }

  /** Asks again where the answer may be another one now: the run ended meanwhile, or another one was selected. */
  private async runsChanged(): Promise<void> {
    this.asking.forget();
    const before = this.store.state;
    const running = before.runs.some((run) => !run.finished && isRun(run, this.run));
    await this.loadRuns();
    const after = this.store.state;
    if (after.selectedRun !== before.selectedRun && this.manifest?.inRun) this.changeRun("");
    else if (before.runs.length === 0 || (running && after.runs.some((run) => run.finished && isRun(run, this.run)))) {
      await this.ask();
    }
  }

  private changeRun(run: string): void {
    const { place } = this.store.state;
    const asked: Record<string, object> = { ...place.asked };
    for (const manifest of this.manifests) {
      if (manifest.inRun) asked[manifest.name] = manifest.inRun(askedOf(place, manifest), run);
    }
    this.goTo({ ...place, asked });
  }

  private async showSource(location: Location): Promise<void> {
    try {
      const asked = this.request("clew/source", { location, context: SOURCE_CONTEXT, run: this.run });
      const answer = await this.newestSource.of(asked);
      if (!answer) return;
      this.store.update({ source: { line: location.line, answer } });
      requestAnimationFrame(showMarkedLine);
    } catch (error) {
      this.store.update({ error: messageOf(error) });
    }
  }

  private render(): void {
    render(drawPage(this), this.root);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
