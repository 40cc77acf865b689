/** Opens a source location in the editor, next to the panel and never on top of it. */
import * as vscode from "vscode";
import type { Location } from "../shared/protocol";

const SHOWN_MS = 2_500;
/** There is more to read. */
const STALE_SHOWN_MS = 8_000;

const marked = vscode.window.createTextEditorDecorationType({
  isWholeLine: true,
  backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
});
const markedStale = vscode.window.createTextEditorDecorationType({
  isWholeLine: true,
  border: "1px dashed",
  borderColor: new vscode.ThemeColor("editorWarning.foreground"),
});
let fading: NodeJS.Timeout | undefined;

/** The place revealed last: a cursor that arrives there was moved by us, not by the user. */
let last: { path: string; line: number } | undefined;

/** `stale` says why the recorded line is not there any more; "" when it is. */
export async function openLocation(location: Location, stale = ""): Promise<void> {
  let document: vscode.TextDocument;
  try {
    document = await vscode.workspace.openTextDocument(vscode.Uri.file(location.path));
  } catch {
    void vscode.window.showWarningMessage(`clew: ${location.path} does not exist; it may have moved since the run`);
    return;
  }
  const line = Math.min(Math.max(location.line - 1, 0), document.lineCount - 1);
  const start = new vscode.Position(line, document.lineAt(line).firstNonWhitespaceCharacterIndex);
  last = { path: document.uri.fsPath, line: line + 1 };
  const editor = await vscode.window.showTextDocument(document, {
    viewColumn: column(document),
    preserveFocus: true,
    preview: true,
    selection: new vscode.Range(start, start),
  });
  editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  // The line's end may be out of sight.
  if (stale) vscode.window.setStatusBarMessage(`clew: ${stale}`, STALE_SHOWN_MS);
  const after = {
    contentText: `  stale: ${stale}`,
    color: new vscode.ThemeColor("editorWarning.foreground"),
    fontStyle: "italic",
  };
  editor.setDecorations(marked, stale ? [] : [new vscode.Range(start, start)]);
  editor.setDecorations(markedStale, stale ? [{ range: document.lineAt(line).range, renderOptions: { after } }] : []);
  clearTimeout(fading);
  fading = setTimeout(
    () => {
      editor.setDecorations(marked, []);
      editor.setDecorations(markedStale, []);
    },
    stale ? STALE_SHOWN_MS : SHOWN_MS,
  );
}

export function isOwnMove(path: string, line: number): boolean {
  return last?.path === path && last.line === line;
}

export function forgetOwnMove(): void {
  last = undefined;
}

/** The column that shows the document already, else one that shows text, else the first. */
function column(document: vscode.TextDocument): vscode.ViewColumn {
  const editors = vscode.window.visibleTextEditors.filter((editor) => editor.viewColumn !== undefined);
  const same = editors.find((editor) => editor.document.uri.toString() === document.uri.toString());
  return (same ?? editors[0])?.viewColumn ?? vscode.ViewColumn.One;
}
