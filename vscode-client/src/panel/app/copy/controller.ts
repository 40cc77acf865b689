/** The menu of copy formats: finds the formats when it opens and reports the result. */
import type { CopyChoice } from "./menu";
import type { Store } from "../store";

const SAID_MS = 4000;

export class CopyController {
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

  async copy(choice: CopyChoice): Promise<void> {
    this.close();
    try {
      this.say(await this.carryOut(choice));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.store.update({ error: `Copying failed: ${reason}` });
    }
  }

  private async offer(): Promise<void> {
    const { copyable } = await import("./formats");
    const link: CopyChoice[] = this.hasAddress ? ["link"] : [];
    this.store.update({ copyable: [...link, ...copyable(this.shown)] });
    requestAnimationFrame(() => this.root.querySelector<HTMLElement>(".copy-menu [role=menuitem]")?.focus());
  }

  private async carryOut(choice: CopyChoice): Promise<string> {
    if (choice === "link") {
      await navigator.clipboard.writeText(window.location.href);
      return "Copied the link to the clipboard.";
    }
    const { copy } = await import("./formats");
    return copy(this.shown, choice, `clew-${this.store.state.place.view.replace(":", "-")}`);
  }

  private get shown(): ParentNode {
    return this.root.querySelector("#view") ?? this.root;
  }

  private say(said: string): void {
    this.store.update({ notification: said });
    setTimeout(() => {
      if (this.store.state.notification === said) this.store.update({ notification: "" });
    }, SAID_MS);
  }
}
