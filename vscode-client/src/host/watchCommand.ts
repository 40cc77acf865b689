/**
 * Watches a program while it is recorded: opens its entities in the panel and shows its size in the status bar.
 *
 * Invariant: one run is watched at a time, while it is live and the panel is open. The last picture stays in the panel.
 */
import * as vscode from "vscode";
import type { RunGrew, RunRef } from "../shared/protocol";
import type { Server } from "./client";
import type { PanelHost } from "./panel";
import type { Recorder } from "./recording";
import { watchText, watchTip } from "./recordingStatus";
import { pickRun } from "./runStatusBar";

export class WatchCommand implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("watch", vscode.StatusBarAlignment.Left, 38);
  private readonly subscriptions: vscode.Disposable[];
  /** The id of the run; "" while none is watched. */
  private run = "";
  /** Ids of the live runs. */
  private readonly growing = new Set<string>();
  /** Runs that were there when something was begun to be recorded in order to be watched. */
  private before: ReadonlySet<string> | undefined;

  constructor(
    private readonly server: Server,
    private readonly panel: PanelHost,
    private readonly recorder: Recorder,
  ) {
    this.item.name = "Clew: watched run";
    this.item.command = "clew.openPanel";
    this.subscriptions = [
      server.onRunGrew((growth) => void this.grew(growth)),
      panel.onClosed(() => {
        this.end();
      }),
      server.onStateChanged((state) => {
        if (state !== "running") this.end();
      }),
    ];
  }

  /**
   * Opens the panel at a run that goes on; without one the user chooses, where there are several, or some in other workspaces only.
   */
  async watch(run?: string): Promise<void> {
    if (!(await this.server.start(false))) return;
    const answer = await this.server.ask("clew/runs", { elsewhere: true });
    const here = answer.runs.filter((one) => !one.finished);
    const going = here.length === 1 ? here : [...here, ...answer.elsewhere];
    if (run === undefined && going.length === 0) {
      await this.offer(answer.runs);
      return;
    }
    const [only] = going;
    const chosen = run ?? (here.length === 1 ? only?.id : (await pickRun({ ...answer, runs: going }, TITLE))?.id);
    if (chosen !== undefined) await this.begin(chosen, going.find((one) => one.id === chosen)?.name ?? chosen);
  }

  dispose(): void {
    vscode.Disposable.from(this.item, ...this.subscriptions).dispose();
  }

  private async begin(run: string, name: string): Promise<void> {
    const id = run.slice(run.lastIndexOf("/") + 1);
    // Lenses count for the run that is looked at; those of a run of another workspace are not in this editor.
    if (id === run) await this.server.ask("clew/selectRun", { run });
    this.run = id;
    this.panel.open({ type: "open", view: "entities", params: { run } });
    this.item.text = watchText(name);
    this.item.tooltip = watchTip(name);
    this.item.show();
  }

  /** Nothing is recorded now. */
  private async offer(runs: readonly RunRef[]): Promise<void> {
    const choice = await vscode.window.showInformationMessage(
      "clew: no recording is active in this workspace. Record a program to watch it.",
      "Record…",
    );
    if (!choice) return;
    this.before = new Set(runs.map((one) => one.id));
    await this.recorder.record({});
  }

  private async grew(growth: RunGrew): Promise<void> {
    if (growth.finished) this.growing.delete(growth.run);
    else this.growing.add(growth.run);
    void vscode.commands.executeCommand("setContext", "clew.growing", this.growing.size > 0);
    if (this.before && !this.before.has(growth.run) && !growth.finished) {
      this.before = undefined;
      await this.begin(growth.run, growth.name);
    }
    if (growth.run !== this.run) return;
    if (growth.finished) this.end();
    else {
      this.item.text = watchText(growth.name, growth);
      this.item.tooltip = watchTip(growth.name, growth);
    }
  }

  private end(): void {
    this.run = "";
    this.item.hide();
  }
}

const TITLE = "Program to watch";
