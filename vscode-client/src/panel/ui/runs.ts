/** Runs as options of a picker. */
import { html, type TemplateResult } from "lit";
import type { RunRef } from "../../shared/protocol";

/** A run may be named by its id or its name; the newest of a name is meant. The id of one of another workspace is its folder;
 * answers have that one's name. What a run that goes on had recorded by some time is named by the run and how much that was. */
export function isRun(run: RunRef, which: string): boolean {
  const of = which.replace(/@\d+-\d+$/, "");
  return [which, of].some((one) => run.id === one || run.name === one || (one !== "" && run.id.endsWith(`/${one}`)));
}

export function runOptions(runs: readonly RunRef[], selected: string): TemplateResult[] {
  const chosen = runs.find((run) => isRun(run, selected));
  return runs.map((run) => html`<option value=${run.id} .selected=${run === chosen}>${runTitle(run)}</option>`);
}

export function runTitle(run: RunRef): string {
  const started = new Date(run.started);
  const today = started.toDateString() === new Date().toDateString();
  const time = today
    ? started.toLocaleTimeString()
    : started.toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
  const state = !run.finished
    ? ` · running${howLong(Date.now() - run.started)}`
    : run.exitCode
      ? ` · exit ${run.exitCode}`
      : "";
  return `${run.name} · ${time}${state}`;
}

/** How long a live program has been running, which distinguishes programs of the same name. */
function howLong(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return "";
  const hours = Math.floor(minutes / 60);
  if (hours < 1) return ` for ${minutes} min`;
  return hours < 48 ? ` for ${hours} h` : ` for ${Math.floor(hours / 24)} days`;
}
