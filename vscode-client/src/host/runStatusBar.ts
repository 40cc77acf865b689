/** The status-bar items for the selected run and the baseline, and the pickers that change them. */
import * as vscode from "vscode";
import { Newest } from "../shared/newest";
import type { RunRef, RunsResult } from "../shared/protocol";
import type { Server } from "./client";

interface RunItem extends vscode.QuickPickItem {
  run: RunRef;
}

const NO_RUN = "This workspace has no runs yet. Record one in a terminal: clew run -- python your_program.py";

export class RunStatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("run", vscode.StatusBarAlignment.Left, 40);
  private readonly baseline = vscode.window.createStatusBarItem("baseline", vscode.StatusBarAlignment.Left, 39.5);
  private readonly newest = new Newest();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly server: Server) {
    this.item.name = "Clew: selected run";
    this.item.command = "clew.selectRun";
    this.baseline.name = "Clew: baseline";
    this.baseline.command = "clew.chooseBaseline";
    this.subscriptions = [
      server.onRunsChanged(() => void this.refresh()),
      server.onStateChanged((state) => {
        if (state === "starting") this.show("$(sync~spin) clew", "The clew server is starting");
        else if (state === "failed")
          this.show("$(warning) clew", "The clew server is not running", "clew.restartServer");
        else if (state === "stopped") this.item.hide();
        if (state !== "running") this.baseline.hide();
      }),
    ];
  }

  async refresh(): Promise<void> {
    if (this.server.state !== "running") return;
    try {
      const answer = await this.newest.of(this.server.ask("clew/runs", {}));
      if (!answer) return;
      const run = answer.runs.find((one) => one.id === answer.selected);
      if (run) this.show(`$(type-hierarchy-super) ${run.name}`, tooltip(run, answer.baselineName));
      else this.show("$(type-hierarchy-super) no run", NO_RUN);
      this.showBaseline(answer);
    } catch (error) {
      this.show("$(warning) clew", error instanceof Error ? error.message : String(error), "clew.showOutput");
    }
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.baseline, ...this.subscriptions).dispose();
  }

  /** Nothing to compare with is nothing to show. */
  private showBaseline({ runs, baselineName }: RunsResult): void {
    if (runs.length < 2) {
      this.baseline.hide();
      return;
    }
    this.baseline.text = `$(git-compare) ${baselineName || "no baseline"}`;
    this.baseline.tooltip = baselineName
      ? `The code shows changes since ${baselineName}. Click to choose another baseline.`
      : "Click to choose an earlier run; the code then shows the changes since.";
    this.baseline.show();
  }

  private show(text: string, tip: string | vscode.MarkdownString, command = "clew.selectRun"): void {
    this.item.text = text;
    this.item.tooltip = tip;
    this.item.command = command;
    this.item.show();
  }
}

/** Asks for one run; undefined when the user gives up or there is none. */
export async function pickRun(answer: RunsResult, title: string, without?: string): Promise<RunRef | undefined> {
  const items = answer.runs.filter((run) => run.id !== without).map((run) => describe(run, answer.selected));
  if (items.length === 0) {
    void vscode.window.showInformationMessage(
      `clew: ${without ? "There is only one run. Record another run to compare." : NO_RUN}`,
    );
    return undefined;
  }
  const choice = await vscode.window.showQuickPick(items, { title, matchOnDescription: true, matchOnDetail: true });
  return choice?.run;
}

/** Asks for the run to compare with: its id, empty for none, undefined when the user gives up. */
export async function pickBaseline(answer: RunsResult): Promise<string | undefined> {
  if (answer.runs.length === 0) {
    void vscode.window.showInformationMessage(`clew: ${NO_RUN}`);
    return undefined;
  }
  const none: vscode.QuickPickItem = { label: "$(circle-slash) None", description: "or the run of the setting" };
  const runs = answer.runs.map((run) => describe(run, answer.baseline));
  const choice = await vscode.window.showQuickPick<vscode.QuickPickItem | RunItem>([none, ...runs], {
    title: "Run to compare with in code lenses and diagnostics",
    matchOnDescription: true,
    matchOnDetail: true,
  });
  return choice && ("run" in choice ? choice.run.id : "");
}

function describe(run: RunRef, selected: string): RunItem {
  const state = !run.finished ? "still running" : run.exitCode === 0 ? "" : `exit code ${run.exitCode ?? "unknown"}`;
  return {
    run,
    label: `${run.id === selected ? "$(check) " : ""}${run.name}`,
    description: [new Date(run.started).toLocaleString(), run.commit, state].filter(Boolean).join(" · "),
    detail: run.command,
  };
}

function tooltip(run: RunRef, baseline: string): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.appendMarkdown("**clew run** ").appendText(`${run.name}\n`);
  text.appendText(`recorded ${new Date(run.started).toLocaleString()}\n`);
  if (run.command) text.appendCodeblock(run.command, "shellscript");
  if (baseline) text.appendText(`compared with ${baseline}\n`);
  for (const problem of run.problems) text.appendText(`${problem}\n`);
  return text.appendMarkdown("\n\nClick to select another run.");
}
