/** The keys of all views: the panel handles its own keys first, then the current view handles its keys. */
import type { SharedState } from "./store";
import type { View, ViewManifest } from "../views/contract";

export interface KeyActions {
  readonly state: Readonly<SharedState>;
  readonly manifests: readonly ViewManifest[];
  readonly view: View | undefined;
  move(by: number): void;
  showView(name: string): void;
  showHelp(shown: boolean): void;
  closeSource(): void;
  closeCopying(): void;
  forgetSearch(): void;
  focusSearch(): void;
  walkFromSelected(): void;
}

export class Keys {
  /** The letter `g` was pressed: the next one names a view. */
  private going = false;

  constructor(private readonly act: KeyActions) {}

  press(event: KeyboardEvent): void {
    const going = this.going;
    this.going = false;
    if (event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    if (isTyping(event) && !event.altKey) {
      if (event.key === "Escape") this.stopTyping(event.target);
      return;
    }
    const known = event.altKey
      ? this.way(event.key)
      : (going && this.view(event.key)) || this.panel(event) || this.inView(event);
    if (known) event.preventDefault();
  }

  private stopTyping(target: EventTarget | null): void {
    if (!(target instanceof HTMLElement)) return;
    if (target.id === "search") this.act.forgetSearch();
    target.blur();
    this.act.view?.focus();
  }

  private way(key: string): boolean {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (by === undefined) return false;
    this.act.move(by);
    return true;
  }

  private view(key: string): boolean {
    const manifest = this.act.manifests.find((one) => one.key === key);
    if (manifest) this.act.showView(manifest.name);
    return manifest !== undefined;
  }

  private panel({ key }: KeyboardEvent): boolean {
    const { act } = this;
    const { copyable, helpShown, source } = act.state;
    if (key === "g") this.going = true;
    else if (key === "Escape" && copyable) act.closeCopying();
    else if (key === "Escape" && helpShown) act.showHelp(false);
    else if (key === "Escape" && source) act.closeSource();
    else if (key === "/") act.focusSearch();
    else if (key === "?") act.showHelp(!helpShown);
    else if (key === "n" || key === "N") act.view?.nextMatch?.(key === "n" ? 1 : -1);
    else if (key === "W" && act.view?.event?.()) act.walkFromSelected();
    else return false;
    return true;
  }

  private inView(event: KeyboardEvent): boolean {
    const { view } = this.act;
    if (view?.key?.(event)) return true;
    if (event.key === "w" && view?.event?.()) {
      this.act.walkFromSelected();
      return true;
    }
    if (!event.key.startsWith("Arrow") || event.target !== document.body) return false;
    view?.focus();
    return true;
  }
}

function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLInputElement || target instanceof HTMLSelectElement || target instanceof HTMLTextAreaElement
  );
}
