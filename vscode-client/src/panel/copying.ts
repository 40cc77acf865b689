/** The menu of what can be copied: asked when it is opened, and what came of it is said. */
import type { Choice } from "./draw/copyMenu";
import type { Store } from "./store";

const SAID_MS = 4000;

export class Copying {
  /** `hasAddress`: is what is shown in the address of the page? An editor's panel has none. */
  constructor(
    private readonly store: Store,
    private readonly root: HTMLElement,
    private readonly hasAddress: boolean,
  ) {}

  toggle(): void {
    if (this.store.state.copyable) this.close();
    else void this.offer();
  }

  close(): void {
    this.store.update({ copyable: undefined });
  }

  async copy(choice: Choice): Promise<void> {
    this.close();
    try {
      this.say(await this.carryOut(choice));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.store.update({ error: `It could not be copied: ${reason}` });
    }
  }

  private async offer(): Promise<void> {
    const { copyable } = await import("./copy");
    const link: Choice[] = this.hasAddress ? ["link"] : [];
    this.store.update({ copyable: [...link, ...copyable(this.shown)] });
    requestAnimationFrame(() => this.root.querySelector<HTMLElement>(".copy-menu [role=menuitem]")?.focus());
  }

  private async carryOut(choice: Choice): Promise<string> {
    if (choice === "link") {
      await navigator.clipboard.writeText(window.location.href);
      return "The link is on the clipboard.";
    }
    const { copy } = await import("./copy");
    return copy(this.shown, choice, `clew-${this.store.state.place.view.replace(":", "-")}`);
  }

  private get shown(): ParentNode {
    return this.root.querySelector("#view") ?? this.root;
  }

  private say(said: string): void {
    this.store.update({ said });
    setTimeout(() => {
      if (this.store.state.said === said) this.store.update({ said: "" });
    }, SAID_MS);
  }
}
