/**
 * Records programs and tests in a terminal of the editor and shows their progress.
 *
 * Invariant: stopping a program sends Ctrl-C first, and terminates the program only if that does not end it.
 */
import * as vscode from "vscode";
import type { ProgressResult, Recordable, RecordableParams } from "../shared/protocol";
import type { Server } from "./client";
import { progressText, progressTip, resultText, taskName } from "./recordingStatus";

const LOOK_MS = 1_000;
const GRACE_MS = 10_000;
const LAST = "clew.lastRecorded";

interface RecordableItem extends vscode.QuickPickItem {
  recordable?: Recordable;
}

interface Recording {
  what: Recordable;
  execution: vscode.TaskExecution;
  /** Of the process that makes the run; undefined until it has started. */
  pid: number | undefined;
  now: ProgressResult | undefined;
  before: string;
  stopped: boolean;
}

export class Recorder implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem("recording", vscode.StatusBarAlignment.Left, 39);
  private readonly subscriptions: vscode.Disposable[];
  private readonly recordings = new Set<Recording>();
  private timer: NodeJS.Timeout | undefined;
  private looking = false;

  constructor(
    private readonly server: Server,
    private readonly memory: vscode.Memento,
  ) {
    this.item.name = "Clew: recording";
    this.item.command = "clew.stopRecording";
    this.subscriptions = [
      vscode.tasks.onDidStartTaskProcess(({ execution, processId }) => {
        const recording = this.of(execution);
        if (recording) recording.pid = processId;
      }),
      vscode.tasks.onDidEndTaskProcess(({ execution, exitCode }) => {
        const recording = this.of(execution);
        if (recording) void this.ended(recording, exitCode);
      }),
      vscode.tasks.onDidEndTask(({ execution }) => {
        // A process that could not be started has no end of its own.
        const recording = this.of(execution);
        if (recording && recording.pid === undefined) void this.ended(recording, undefined);
      }),
    ];
  }

  /** Records what the parameters name; without a kind the user chooses. */
  async record(params: RecordableParams): Promise<void> {
    if (!(await this.server.start(false))) return;
    await saveEdited();
    const { recordables, message } = await this.server.ask("clew/recordables", params);
    const [first] = recordables;
    if (params.kind) {
      if (first) await this.run(first);
      else void vscode.window.showInformationMessage(`clew: ${message}`);
      return;
    }
    const chosen = await this.pick(recordables);
    if (chosen) await this.run(chosen);
  }

  async again(): Promise<void> {
    const last = this.memory.get<Recordable>(LAST);
    if (!last) await this.record({});
    else if (await this.server.start(false)) {
      await saveEdited();
      await this.run(last);
    }
  }

  stop(): void {
    const running = [...this.recordings];
    if (running.length === 0) void vscode.window.showInformationMessage("clew: no recording is active.");
    for (const recording of running) {
      const { pid, execution, stopped } = recording;
      recording.stopped = true;
      if (pid === undefined || stopped || !interrupted(pid)) execution.terminate();
      else
        setTimeout(() => {
          if (this.recordings.has(recording)) execution.terminate();
        }, GRACE_MS);
    }
  }

  dispose(): void {
    clearInterval(this.timer);
    vscode.Disposable.from(this.item, ...this.subscriptions).dispose();
  }

  private of(execution: vscode.TaskExecution): Recording | undefined {
    return [...this.recordings].find((recording) => recording.execution === execution);
  }

  private async pick(recordables: readonly Recordable[]): Promise<Recordable | undefined> {
    const last = this.memory.get<Recordable>(LAST)?.command.join("\0");
    const items: RecordableItem[] = recordables.map((recordable) => ({
      recordable,
      label: `$(${ICONS[recordable.kind]}) ${recordable.name}`,
      description: recordable.command.join("\0") === last ? "last recording" : "",
      detail: recordable.detail,
    }));
    items.push({ label: "$(terminal) Another command…", detail: "python app.py --port 8000" });
    const choice = await vscode.window.showQuickPick(items, {
      title: "What to record",
      placeHolder: "Choose a program, a test or another command",
      matchOnDetail: true,
    });
    if (!choice || choice.recordable) return choice?.recordable;
    const command = await vscode.window.showInputBox({
      title: "The command to record",
      prompt: "As typed in a terminal in the workspace folder.",
      placeHolder: "python app.py --port 8000",
    });
    if (!command?.trim()) return undefined;
    const { recordables: typed, message } = await this.server.ask("clew/recordables", { command });
    if (typed.length === 0) throw new Error(message);
    return typed[0];
  }

  private async run(what: Recordable): Promise<void> {
    await this.memory.update(LAST, what);
    const [program, ...words] = what.command;
    if (program === undefined) return;
    const folder = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(what.cwd));
    const task = new vscode.Task(
      { type: "clew", what: what.name },
      folder ?? vscode.TaskScope.Workspace,
      taskName(what),
      "clew",
      new vscode.ProcessExecution(program, words, {
        cwd: what.cwd,
        env: Object.fromEntries(what.environment.map((pair) => splitOnce(pair))),
      }),
      [],
    );
    task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: false, clear: true };
    const before = (await this.server.ask("clew/runs", {})).runs[0]?.id ?? "";
    const execution = await vscode.tasks.executeTask(task);
    this.recordings.add({ what, execution, pid: undefined, now: undefined, before, stopped: false });
    void vscode.commands.executeCommand("setContext", "clew.recording", true);
    this.timer ??= setInterval(() => void this.look(), LOOK_MS);
    this.show();
  }

  /** Asks how far the recordings are, one question at a time. */
  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    try {
      for (const recording of this.recordings) {
        if (recording.pid !== undefined)
          recording.now = await this.server.ask("clew/progress", { launcher: recording.pid, look: true });
      }
    } catch (error) {
      // The next request may succeed; the program continues regardless.
      this.server.output.info(`no progress: ${String(error)}`);
    } finally {
      this.looking = false;
      this.show();
    }
  }

  private show(): void {
    const [first] = this.recordings;
    if (!first) {
      this.item.hide();
      return;
    }
    this.item.text = `$(record) ${progressText(first.now)}`;
    this.item.tooltip = progressTip(first.what, first.now, this.recordings.size);
    this.item.show();
  }

  private async ended(recording: Recording, exitCode: number | undefined): Promise<void> {
    this.recordings.delete(recording);
    if (this.recordings.size === 0) {
      clearInterval(this.timer);
      this.timer = undefined;
      void vscode.commands.executeCommand("setContext", "clew.recording", false);
    }
    this.show();
    const { what, pid, before } = recording;
    if (pid === undefined) {
      void vscode.window.showErrorMessage(`clew: ${what.name} could not be started: ${what.command[0] ?? ""}`);
      return;
    }
    const { run } = await this.server.ask("clew/progress", { launcher: pid });
    if (!run) {
      void vscode.window.showWarningMessage(
        `clew: ${what.name} ended without a recording; see its terminal for the reason.`,
      );
      return;
    }
    await this.server.ask("clew/selectRun", { run: run.id });
    const choices = ["Open Panel", ...(before ? ["Compare with Previous Run"] : [])];
    const choice = await vscode.window.showInformationMessage(resultText(what, run, exitCode), ...choices);
    if (choice === "Open Panel") await vscode.commands.executeCommand("clew.openPanel");
    else if (choice) await vscode.commands.executeCommand("clew.openCompare", { before: [before], after: [run.id] });
  }
}

const ICONS: Record<Recordable["kind"], string> = {
  configured: "play",
  test: "beaker",
  tests: "beaker",
  file: "file-code",
  script: "package",
  package: "package",
  typed: "terminal",
};

/** What is recorded is what the user sees. */
async function saveEdited(): Promise<void> {
  await vscode.workspace.saveAll(false);
}

/** Sends Ctrl-C's signal; false where that can't be done. */
function interrupted(pid: number): boolean {
  try {
    return process.kill(pid, "SIGINT");
  } catch {
    return false; // it has just ended, or this system knows no such signal
  }
}

function splitOnce(pair: string): [string, string] {
  const at = pair.indexOf("=");
  return [pair.slice(0, at), pair.slice(at + 1)];
}
