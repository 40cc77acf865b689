/** The settings of the extension as typed values. The server requests its own settings. */
import * as vscode from "vscode";

const SECTION = "clew";

export function python(folder: vscode.WorkspaceFolder | undefined): string {
  return vscode.workspace.getConfiguration(SECTION, folder).get<string>("python", "").trim();
}

/** Links at events in logs and terminals. */
export function logLinks(): boolean {
  return vscode.workspace.getConfiguration(SECTION).get<boolean>("logs.links", true);
}

export function maxNodes(): number {
  return vscode.workspace.getConfiguration(SECTION).get<number>("panel.maxNodes", 300);
}

/** Calls `listener` when the interpreter to use may have changed. */
export function onPythonChanged(listener: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((change) => {
    if (change.affectsConfiguration(`${SECTION}.python`)) listener();
  });
}
