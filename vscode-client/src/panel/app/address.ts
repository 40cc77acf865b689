/**
 * Keeps the history of the panel in the address of the page: the current question after the #, earlier questions in the browser's
 * history.
 *
 * Invariant: Back and Forward of the browser and of the panel are the same steps.
 */
import { current, extended, savedTrail, startTrail, type Trail } from "./trail";

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

  /**
   * The address determines the current place. The saved state has the places before it; places after it are known only as long as
   * the page lives.
   */
  private arrived(state: unknown): Trail {
    const shown = window.location.hash.slice(1);
    const kept = savedTrail(state);
    if (!kept || current(kept) !== shown) return this.trail ? extended(this.trail, shown) : startTrail(shown);
    const further = this.trail?.states[kept.at] === shown ? this.trail.states : kept.states;
    return { states: further, at: kept.at };
  }
}
