/**
 * The address of the page as the panel's memory: what is shown stands behind the #, the way up to there in the browser's history.
 *
 * Invariant: Back and Forward of the browser and of the panel are the same steps.
 */
import { current, onward, savedTrail, startTrail, type Trail } from "./model/trail";

export class AddressBar {
  private trail: Trail | undefined;

  save(trail: Trail, isNewPlace: boolean): void {
    const address = `${window.location.pathname}${window.location.search}#${current(trail)}`;
    if (isNewPlace && trail.at > 0) window.history.pushState(trail, "", address);
    else window.history.replaceState(trail, "", address);
    this.trail = trail;
  }

  saved(): Trail {
    this.trail = this.arrived(window.history.state);
    window.history.replaceState(this.trail, "");
    return this.trail;
  }

  navigate(by: number): boolean {
    window.history.go(by);
    return true;
  }

  onNavigate(listener: (trail: Trail) => void): void {
    window.addEventListener("popstate", (event) => {
      this.trail = this.arrived(event.state);
      listener(this.trail);
    });
  }

  /** The address says what is shown. What is kept beside it is the way up to there; the way on is known as long as the page is. */
  private arrived(state: unknown): Trail {
    const shown = window.location.hash.slice(1);
    const kept = savedTrail(state);
    if (!kept || current(kept) !== shown) return this.trail ? onward(this.trail, shown) : startTrail(shown);
    const further = this.trail?.states[kept.at] === shown ? this.trail.states : kept.states;
    return { states: further, at: kept.at };
  }
}
