/**
 * Logs in VS Code: files, output channels, unsaved texts and terminals. The server decides what a line means.
 *
 * Invariant: the server never receives its own output: its output channel does not count as a log.
 */
import * as vscode from "vscode";
import type { SliceParams, Target } from "../../shared/protocol";
import type { Server } from "../client";
import * as settings from "../settings";

const LOG_FILE = /\.log(?:[.-][\w-]+)?$|\.(?:out|err|txt)$/i;
/** A line worth asking the server about: it has a time, a level or an event's id. */
const PERHAPS_LOGGED =
  /\d\d:\d\d:\d\d|\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|\[?clew\W|"(?:level|message)"|^\D?\d{10}/;
const LONGEST_LINE = 2000;

/** What "why" means at a line (from 0) of a document; undefined where it means nothing. */
export function targetAt(document: vscode.TextDocument, line: number): Target | undefined {
  const { languageId, uri } = document;
  if (uri.scheme === "file") {
    const known = languageId === "python" || languageId.toLowerCase() === "log" || LOG_FILE.test(uri.path);
    return known ? { location: { path: uri.fsPath, line: line + 1 } } : undefined;
  }
  const text = line < document.lineCount ? document.lineAt(line).text : "";
  return text.trim() ? { line: text } : undefined;
}

/** The file of the active tab, also of one that is too large for extensions to see its text. */
export function activeFile(): vscode.Uri | undefined {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputText && input.uri.scheme === "file" ? input.uri : undefined;
}

/** Asks for a line of a log that is too large for VS Code to share with extensions. */
export async function askLine(uri: vscode.Uri, question: string): Promise<Target | undefined> {
  const name = uri.path.split("/").at(-1) ?? "";
  const answer = await vscode.window.showInputBox({
    title: `${question} A line of ${name}`,
    prompt: "Line number, as shown by Ctrl+G. You can also right-click the number in the margin.",
    validateInput: (text) => (/^[1-9]\d*$/.test(text.trim()) ? undefined : "Enter a line number"),
  });
  return answer === undefined ? undefined : { location: { path: uri.fsPath, line: Number(answer.trim()) } };
}

export function isLargeLog(uri: vscode.Uri | undefined): uri is vscode.Uri {
  return uri !== undefined && LOG_FILE.test(uri.path) && vscode.window.activeTextEditor === undefined;
}

class LoggedLink extends vscode.TerminalLink {
  constructor(
    begin: number,
    end: number,
    title: string,
    readonly params: SliceParams,
  ) {
    super(begin, end - begin, `Why? ${title}`);
  }
}

/** Makes the lines of terminals that a recorded run logged ask why. */
export class LoggedLinks implements vscode.TerminalLinkProvider<LoggedLink> {
  constructor(private readonly server: Server) {}

  async provideTerminalLinks(
    context: vscode.TerminalLinkContext,
    token: vscode.CancellationToken,
  ): Promise<LoggedLink[]> {
    const text = context.line;
    if (this.server.state !== "running" || !settings.logLinks() || text.length > LONGEST_LINE) return [];
    if (!PERHAPS_LOGGED.test(text)) return [];
    try {
      const { lines } = await this.server.ask("clew/recognise", { text }, token);
      return lines.map(
        (line) => new LoggedLink(line.begin, line.end, line.title, { target: line.target, run: line.run }),
      );
    } catch {
      return []; // a line without a link; the server's output says what went wrong
    }
  }

  async handleTerminalLink(link: LoggedLink): Promise<void> {
    await vscode.commands.executeCommand("clew.why", link.params);
  }
}
