/**
 * Starts, restarts and queries the language server.
 *
 * Invariant: at most one server runs. `ask` either answers or throws an error with a message for the user.
 */
import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, RevealOutputChannelOn, State } from "vscode-languageclient/node";
import {
  type ClientOptions,
  COMMANDS,
  type Method,
  type Methods,
  RUN_GREW,
  type RunGrew,
  RUNS_CHANGED,
} from "../shared/protocol";
import { isOwnOutput, LOGS } from "./logs/documents";
import { findInterpreter, serverEnvironment } from "./python";

export type ServerState = "stopped" | "starting" | "running" | "failed";

export class Server implements vscode.Disposable {
  readonly output = vscode.window.createOutputChannel("Clew", { log: true });
  private readonly runsChanged = new vscode.EventEmitter<void>();
  private readonly runGrew = new vscode.EventEmitter<RunGrew>();
  private readonly stateChanged = new vscode.EventEmitter<ServerState>();
  readonly onRunsChanged = this.runsChanged.event;
  /** About every live run, about once a second. */
  readonly onRunGrew = this.runGrew.event;
  readonly onStateChanged = this.stateChanged.event;
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient | undefined> | undefined;
  private current: ServerState = "stopped";

  get state(): ServerState {
    return this.current;
  }

  /** Starts the server if it does not run; `quietly` keeps a missing clew to the output channel. */
  async start(quietly: boolean): Promise<boolean> {
    if (this.client) return true;
    this.starting ??= this.launch(quietly).finally(() => (this.starting = undefined));
    return (await this.starting) !== undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start(false);
  }

  async stop(): Promise<void> {
    await this.starting;
    const client = this.client;
    this.client = undefined;
    this.setState("stopped");
    await client?.dispose(5_000);
  }

  async ask<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    token?: vscode.CancellationToken,
  ): Promise<Methods[M]["result"]> {
    if (!this.client && !(await this.start(false))) {
      throw new Error("The clew server is not running. See the output channel Clew, then run “Clew: Restart Server”.");
    }
    const client = this.client;
    if (!client) throw new Error("The clew server was stopped.");
    // A token that is undefined would be taken for a second parameter.
    return token
      ? client.sendRequest<Methods[M]["result"]>(method, params, token)
      : client.sendRequest<Methods[M]["result"]>(method, params);
  }

  dispose(): void {
    void this.stop();
    this.runsChanged.dispose();
    this.runGrew.dispose();
    this.stateChanged.dispose();
    this.output.dispose();
  }

  private async launch(quietly: boolean): Promise<LanguageClient | undefined> {
    this.setState("starting");
    const folder = await folderWithRuns();
    const python = await findInterpreter(folder);
    if (python.kind === "missing") {
      this.output.warn(python.message);
      this.setState("failed");
      if (!quietly) void offerHelp(python.message, python.install);
      return undefined;
    }
    this.output.info(`clew ${python.version} of ${python.path}`);
    const cwd = folder?.uri.fsPath;
    const client = new LanguageClient(
      "clew",
      "Clew",
      {
        command: python.path,
        args: ["-m", "clew", "lsp"],
        options: { env: serverEnvironment(), ...(cwd === undefined ? {} : { cwd }) },
      },
      this.clientOptions(folder),
    );
    client.onDidChangeState(({ newState }) => {
      if (this.client !== client) return;
      this.setState(newState === State.Running ? "running" : newState === State.Starting ? "starting" : "failed");
    });
    try {
      await client.start();
    } catch (error) {
      this.setState("failed");
      this.output.error(String(error));
      void offerOutput(`The clew server did not start: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
    this.client = client;
    client.onNotification(RUNS_CHANGED, () => {
      this.runsChanged.fire();
    });
    client.onNotification(RUN_GREW, (growth: RunGrew) => {
      this.runGrew.fire(growth);
    });
    this.setState("running");
    this.runsChanged.fire();
    return client;
  }

  private clientOptions(folder: vscode.WorkspaceFolder | undefined): LanguageClientOptions {
    const initializationOptions: ClientOptions = { panel: true, workspace: folder?.uri.fsPath ?? "" };
    return {
      documentSelector: [{ scheme: "file", language: "python" }, { scheme: "file", language: "esl" }, ...LOGS],
      initializationOptions,
      outputChannel: this.output,
      middleware: {
        didOpen: async (document, next) => (isOwnOutput(document) ? undefined : next(document)),
        didChange: async (change, next) => (isOwnOutput(change.document) ? undefined : next(change)),
        didClose: async (document, next) => (isOwnOutput(document) ? undefined : next(document)),
      },
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      markdown: { isTrusted: { enabledCommands: [...COMMANDS] } },
    };
  }

  private setState(state: ServerState): void {
    if (this.current === state) return;
    this.current = state;
    void vscode.commands.executeCommand("setContext", "clew.ready", state === "running");
    this.stateChanged.fire(state);
  }
}

/** The workspace folder that has recorded runs, else the first one. */
export async function folderWithRuns(): Promise<vscode.WorkspaceFolder | undefined> {
  const folders = vscode.workspace.workspaceFolders ?? [];
  for (const folder of folders) {
    if (await hasRuns(folder)) return folder;
  }
  return folders[0];
}

export async function hasRuns(folder: vscode.WorkspaceFolder): Promise<boolean> {
  try {
    await vscode.workspace.fs.stat(vscode.Uri.joinPath(folder.uri, ".clew", "runs"));
    return true;
  } catch {
    return false; // the answer to "is it there?", not a problem
  }
}

async function offerHelp(message: string, install: string): Promise<void> {
  const choices = [...(install ? ["Install clew"] : []), "Choose Python…", "Show Output"];
  const choice = await vscode.window.showErrorMessage(`clew: ${message}`, ...choices);
  if (choice === "Install clew") {
    const terminal = vscode.window.createTerminal("Install clew");
    terminal.show();
    terminal.sendText(install, false); // the user presses Enter
  } else if (choice === "Choose Python…") {
    await vscode.commands.executeCommand("workbench.action.openSettings", "clew.python");
  } else if (choice === "Show Output") {
    await vscode.commands.executeCommand("clew.showOutput");
  }
}

async function offerOutput(message: string): Promise<void> {
  const choice = await vscode.window.showErrorMessage(message, "Show Output", "Restart Server");
  if (choice === "Show Output") await vscode.commands.executeCommand("clew.showOutput");
  if (choice === "Restart Server") await vscode.commands.executeCommand("clew.restartServer");
}
