/**
 * The panel: joins transport, store and views, draws what is around the views, and answers the keys that they do not.
 *
 * Invariant: exactly one view is shown, the one of the store's place, and the saved state is always that place.
 */
import { html, nothing, render } from "lit";
import "@vscode-elements/elements/dist/vscode-progress-bar/index.js";
import type {
  CriticalPathParams,
  HostMessage,
  Location,
  Method,
  Methods,
  OpenMessage,
  SliceParams,
} from "../shared/protocol";
import type { SettingsMessage } from "../shared/wire";
import { drawHeader, type HeaderActions } from "./draw/header";
import { helpDialog } from "./draw/help";
import { notice } from "./draw/parts";
import { isRun } from "./draw/runs";
import { gapPattern } from "./draw/shapes";
import { showMarkedLine, sourceDrawer } from "./draw/source";
import {
  askedRun,
  decode,
  DEFAULT_MAX_NODES,
  encode,
  isOfOneRun,
  type Place,
  sameQuestion,
  type ViewName,
} from "./model/place";
import { Store } from "./store";
import type { Transport } from "./transport";
import { type Context, makeViews, type View } from "./views/view";

/** What may be chosen before the server has said what there is. */
const LEVELS = ["function", "class", "module", "component", "task", "thread", "process", "machine"];
const SOURCE_CONTEXT = 12;

export class Panel implements Context, HeaderActions {
  readonly store = new Store(DEFAULT_MAX_NODES);
  private readonly views: View[];
  private levels: readonly string[] = LEVELS;
  /** Did the host or the user name a place already? Then the saved one is not asked for. */
  private named = false;

  constructor(
    private readonly root: HTMLElement,
    private readonly transport: Transport,
  ) {
    this.views = makeViews(this);
    this.store.subscribe(() => {
      this.render();
    });
  }

  /** Shows the saved place, then listens to the host, whose first wish may be another place. */
  async start(): Promise<void> {
    document.addEventListener("keydown", (event) => {
      this.key(event);
    });
    this.transport.onNavigate((state) => {
      this.store.update({ place: decode(state) });
      void this.ask();
    });
    const saved = this.transport.saved();
    if (saved) this.store.update({ place: decode(saved) });
    this.render();
    this.transport.listen((message) => void this.receive(message));
    await this.loadRuns();
    // What was asked for before the runs were known may have waited for them.
    if (!this.named || (this.store.state.busy === 0 && this.view?.shownRun() === undefined)) await this.ask();
  }

  async request<M extends Method>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    this.store.update({ busy: this.store.state.busy + 1 });
    try {
      const result = await this.transport.request(method, params);
      if ("levels" in result && result.levels.length > 0) this.levels = result.levels;
      return result;
    } finally {
      this.store.update({ busy: this.store.state.busy - 1 });
    }
  }

  reveal(location: Location | null): void {
    if (!location) return;
    if (this.transport.hasEditor) this.transport.reveal(location);
    else void this.showSource(location);
  }

  go(change: Partial<Place>): void {
    this.named = true;
    const before = this.store.state.place;
    const place = { ...before, ...change };
    this.store.update({ place });
    this.transport.save(encode(place), !sameQuestion(before, place));
    void this.ask();
  }

  remember(change: Partial<Place>): void {
    this.store.updatePlace(change);
    this.transport.save(encode(this.store.state.place), false);
  }

  private get view(): View | undefined {
    return this.views.find((view) => view.name === this.store.state.place.view);
  }

  private async ask(): Promise<void> {
    const view = this.view;
    if (!view) return;
    this.store.update({ error: "" });
    try {
      await view.open(this.store.state.place);
    } catch (error) {
      this.store.update({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  private async loadRuns(): Promise<void> {
    try {
      const { runs, selected, baseline, workspace } = await this.request("clew/runs", {});
      this.store.update({ runs, selectedRun: selected, baseline, workspace, runsKnown: true });
    } catch (error) {
      this.store.update({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  private async receive(message: HostMessage | SettingsMessage): Promise<void> {
    switch (message.type) {
      case "settings":
        this.store.update({ maxNodes: message.maxNodes });
        break;
      case "open":
        this.goTo(message);
        break;
      case "cursor":
        await this.followCursor(message.location);
        break;
      case "runsChanged":
        await this.runsChanged();
    }
  }

  private goTo({ view, params }: OpenMessage): void {
    this.go({ view, [view]: params });
  }

  private async followCursor(location: Location): Promise<void> {
    const run = this.run;
    try {
      const found = await this.transport.request("clew/locate", { location, ...(run ? { run } : {}) });
      if (found.function) this.view?.select({ label: found.function, location: found.location });
    } catch {
      // The cursor moved on its own: nothing was asked, so there is nothing to complain of.
    }
  }

  /** Asks again where the answer may be another one now: the run ended meanwhile, or another one was selected. */
  private async runsChanged(): Promise<void> {
    const before = this.store.state;
    const running = before.runs.some((run) => !run.finished && isRun(run, this.run));
    await this.loadRuns();
    const after = this.store.state;
    if (after.selectedRun !== before.selectedRun && isOfOneRun(after.place.view)) this.changeRun("");
    else if (before.runs.length === 0 || (running && after.runs.some((run) => run.finished && isRun(run, this.run)))) {
      await this.ask();
    }
  }

  /** The run that the present view shows, or will show: by id or name. */
  get run(): string {
    const { place, selectedRun } = this.store.state;
    return [this.view?.shownRun(), askedRun(place), selectedRun].find(Boolean) ?? "";
  }

  private changeRun(run: string): void {
    const { place } = this.store.state;
    // An event's number means another event in another run.
    const keep = <P extends SliceParams | CriticalPathParams>(params: P): P => {
      const target = typeof params.target.event === "number" ? {} : params.target;
      const { run: _old, ...rest } = params;
      return { ...rest, target, ...(run ? { run } : {}) } as P;
    };
    const { run: _shown, ...patterns } = place.patterns;
    this.go({
      slice: keep(place.slice),
      path: keep(place.path),
      patterns: { ...patterns, ...(run ? { run } : {}) },
    });
  }

  async pickRun(run: string): Promise<void> {
    this.changeRun(run);
    try {
      const { runs, selected } = await this.request("clew/selectRun", { run });
      this.store.update({ runs, selectedRun: selected });
    } catch (error) {
      this.store.update({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  private async showSource(location: Location): Promise<void> {
    try {
      const answer = await this.request("clew/source", { location, context: SOURCE_CONTEXT });
      this.store.update({ source: { line: location.line, answer } });
      requestAnimationFrame(showMarkedLine);
    } catch (error) {
      this.store.update({ error: error instanceof Error ? error.message : String(error) });
    }
  }

  showHelp(helpShown: boolean): void {
    this.store.update({ helpShown });
    if (helpShown) requestAnimationFrame(() => this.root.querySelector<HTMLElement>(".help .close")?.focus());
  }

  showView(view: ViewName): void {
    const { place } = this.store.state;
    const shared = view === "path" ? { path: pathOf(place.slice) } : {};
    this.go({ view, ...shared });
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (event.altKey) {
      if (event.key === "ArrowLeft" && this.view?.unhandle()) event.preventDefault();
      return;
    }
    if (isTyping(event)) {
      if (event.key === "Escape" && event.target instanceof HTMLElement) {
        if (event.target.id === "search") this.remember({ search: "" });
        event.target.blur();
        this.view?.focus();
      }
      return;
    }
    if (event.key === "Escape" && this.store.state.helpShown) this.showHelp(false);
    else if (event.key === "Escape" && this.store.state.source) this.store.update({ source: undefined });
    else if (event.key === "/") this.root.querySelector<HTMLInputElement>("#search")?.focus();
    else if (event.key === "?") this.showHelp(!this.store.state.helpShown);
    else if (event.key === "n" || event.key === "N") this.view?.nextMatch?.(event.key === "n" ? 1 : -1);
    else if (event.key.startsWith("Arrow") && event.target === document.body) this.view?.focus();
    else if (!this.view?.key?.(event)) return;
    event.preventDefault();
  }

  private render(): void {
    const { busy, error, source, helpShown, workspace } = this.store.state;
    render(
      html`
        <svg class="definitions" aria-hidden="true"><defs>${gapPattern()}</defs></svg>
        ${drawHeader(this.store.state, this.views, this.levels, this)}
        <div class="progress" aria-hidden=${busy > 0 ? "false" : "true"}>
          ${busy > 0 ? html`<vscode-progress-bar indeterminate aria-label="Asking the server"></vscode-progress-bar>` : nothing}
        </div>
        ${
          error
            ? notice("error", error, {
                name: "Try again",
                run: () => {
                  void this.loadRuns().then(() => this.ask());
                },
              })
            : nothing
        }
        <main id="view" aria-busy=${busy > 0 ? "true" : "false"}>${this.view?.draw() ?? nothing}</main>
        ${
          source
            ? sourceDrawer(source.answer, source.line, workspace, () => {
                this.store.update({ source: undefined });
              })
            : nothing
        }
        ${
          helpShown
            ? helpDialog(() => {
                this.showHelp(false);
              })
            : nothing
        }
      `,
      this.root,
    );
  }
}

/** The critical path of what a slice was asked about; an event level has none. */
function pathOf(slice: SliceParams): CriticalPathParams {
  const { target, run, level } = slice;
  return {
    target,
    ...(run === undefined ? {} : { run }),
    ...(level === undefined || level === "event" ? {} : { level }),
  };
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
