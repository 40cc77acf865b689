/**
 * The extension: decides whether a workspace needs clew, and connects server, panel, commands and status bar.
 *
 * Invariant: in a workspace without runs and specs, nothing starts and no error appears until the user runs a command.
 */
import * as vscode from "vscode";
import { folderWithRuns, hasRuns, Server } from "./client";
import { registerCommands } from "./commands";
import { LoggedLinks } from "./logs/links";
import { PanelHost } from "./panel";
import { onInterpreterChanged } from "./python";
import { Recorder } from "./recording";
import { RunStatusBar } from "./runStatusBar";
import { WalkCommands } from "./walkCommands";
import { WatchCommand } from "./watchCommand";

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const server = new Server();
  const panel = new PanelHost(context.extensionUri, server);
  const recorder = new Recorder(server, context.workspaceState);
  const walking = new WalkCommands(server, panel);
  const watching = new WatchCommand(server, panel, recorder);
  const commands = registerCommands(server, panel, recorder, walking, watching);
  context.subscriptions.push(panel, new RunStatusBar(server), recorder, walking, watching, commands, server);

  context.subscriptions.push(vscode.window.registerTerminalLinkProvider(new LoggedLinks(server)));

  const runs = vscode.workspace.createFileSystemWatcher("**/.clew/runs/*/run.json");
  const startQuietly = (): void => void server.start(true);
  context.subscriptions.push(
    runs,
    runs.onDidCreate(startQuietly),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (document.languageId === "esl") void server.start(false);
    }),
  );
  // The Python extension may take its time to start, and is not waited for.
  void onInterpreterChanged(() => {
    if (server.state !== "stopped") void server.restart();
  }).then((listening) => context.subscriptions.push(listening));

  const folder = await folderWithRuns();
  const specIsOpen = vscode.workspace.textDocuments.some((document) => document.languageId === "esl");
  if (specIsOpen || (folder && (await hasRuns(folder)))) void server.start(false);
}
