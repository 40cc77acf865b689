/**
 * The webview of the panel: its page, its messages, and its state across reloads of the window.
 *
 * Invariant: the webview loads only the built panel, a worker made from it, and the custom views of a trusted workspace. The extension
 * is disabled in other workspaces.
 */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { HostMessage, Location, RevealMessage } from "../shared/protocol";
import { Newest } from "../shared/newest";
import type { Walk } from "../shared/walk";
import { type FromPanel, isRequest, type ToPanel } from "../shared/wire";
import { folderWithRuns, type Server } from "./client";
import { forgetOwnMove, isOwnMove, openLocation } from "./openLocation";
import * as settings from "./settings";

const VIEW_TYPE = "clew.panel";
const CURSOR_DELAY_MS = 150;

export class PanelHost implements vscode.Disposable, vscode.WebviewPanelSerializer {
  private readonly closed = new vscode.EventEmitter<void>();
  /** By the user. */
  readonly onClosed = this.closed.event;
  private readonly walkedThere = new vscode.EventEmitter<Walk | null>();
  /** A step was made in the panel, or the walk was ended there. */
  readonly onWalked = this.walkedThere.event;
  private panel: vscode.WebviewPanel | undefined;
  private listening = false;
  private waiting: ToPanel[] = [];
  /** Requests of the panel that are not answered yet. */
  private readonly asked = new Map<number, vscode.CancellationTokenSource>();
  private readonly newestPlace = new Newest();
  private cursorTimer: NodeJS.Timeout | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly extensionUri: vscode.Uri,
    private readonly server: Server,
  ) {
    this.subscriptions = [
      vscode.window.registerWebviewPanelSerializer(VIEW_TYPE, this),
      vscode.window.onDidChangeTextEditorSelection((change) => {
        this.cursorMoved(change.textEditor);
      }),
      server.onRunsChanged(() => {
        if (this.panel) this.send({ type: "runsChanged" });
      }),
      server.onRunGrew((growth) => {
        // Told again if the panel does not listen yet.
        if (this.listening) this.send({ type: "runGrew", growth });
      }),
    ];
  }

  /** Shows the panel next to the editor, with `message` as its first or next view. */
  open(message?: HostMessage): void {
    if (this.panel) this.panel.reveal(undefined, true);
    else {
      const created = vscode.window.createWebviewPanel(
        VIEW_TYPE,
        "Clew",
        { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
        this.webviewOptions(),
      );
      this.adopt(created);
    }
    if (message) this.send(message);
  }

  /** Lets the panel, if it is there, show a step that was made here; null: the walk was ended. */
  walked(walk: Walk | null): void {
    if (this.panel) this.send({ type: "walked", walk });
  }

  deserializeWebviewPanel(panel: vscode.WebviewPanel): Thenable<void> {
    panel.webview.options = this.webviewOptions();
    this.adopt(panel);
    return Promise.resolve();
  }

  dispose(): void {
    clearTimeout(this.cursorTimer);
    this.panel?.dispose();
    this.walkedThere.dispose();
    this.closed.dispose();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  private adopt(panel: vscode.WebviewPanel): void {
    this.panel?.dispose();
    this.panel = panel;
    this.listening = false;
    panel.iconPath = vscode.Uri.joinPath(this.extensionUri, "icon.png");
    panel.webview.onDidReceiveMessage((message: FromPanel) => this.receive(panel, message));
    panel.onDidDispose(() => {
      if (this.panel !== panel) return;
      this.panel = undefined;
      this.listening = false;
      this.waiting = [];
      this.closed.fire();
    });
    panel.webview.html = page(panel.webview, this.extensionUri);
  }

  private webviewOptions(): vscode.WebviewPanelOptions & vscode.WebviewOptions {
    const folders = vscode.workspace.workspaceFolders ?? [];
    return {
      enableScripts: true,
      retainContextWhenHidden: true,
      localResourceRoots: [vscode.Uri.joinPath(this.extensionUri, "dist", "panel"), ...folders.map(viewsFolder)],
    };
  }

  private async receive(panel: vscode.WebviewPanel, message: FromPanel): Promise<void> {
    if (isRequest(message)) {
      const cancelling = new vscode.CancellationTokenSource();
      this.asked.set(message.id, cancelling);
      const answer = await this.server.ask(message.method, message.params, cancelling.token).then(
        (result) => ({ id: message.id, result }),
        (error: unknown) => ({
          id: message.id,
          error: { message: error instanceof Error ? error.message : String(error) },
        }),
      );
      this.asked.delete(message.id);
      cancelling.dispose();
      void panel.webview.postMessage(answer);
    } else if (message.type === "walked") this.walkedThere.fire(message.walk);
    else if (message.type === "reveal") await this.reveal(message);
    else if (message.type === "cancel") this.asked.get(message.id)?.cancel();
    else {
      this.listening = true;
      const folder = await folderWithRuns();
      const views = folder && viewsFolder(folder);
      const known: ToPanel = {
        type: "settings",
        maxNodes: settings.maxNodes(),
        views: views ? `${panel.webview.asWebviewUri(views).toString()}/` : "",
      };
      void panel.webview.postMessage(known);
      for (const kept of this.waiting.splice(0)) void panel.webview.postMessage(kept);
    }
  }

  /** The current line of a recorded location. */
  private async reveal({ location, run }: RevealMessage): Promise<void> {
    const isNewest = this.newestPlace.begin();
    const now = await this.server
      .ask("clew/present", { location, run })
      .catch(() => ({ location, state: "stale", message: "" }) as const);
    if (!isNewest()) return;
    await openLocation(now.location, now.state === "stale" ? now.message : "");
  }

  private send(message: ToPanel): void {
    if (this.panel && this.listening) void this.panel.webview.postMessage(message);
    else this.waiting.push(message);
  }

  private cursorMoved(editor: vscode.TextEditor): void {
    clearTimeout(this.cursorTimer);
    if (!this.panel?.visible || editor.document.languageId !== "python" || editor.document.uri.scheme !== "file")
      return;
    const location: Location = { path: editor.document.uri.fsPath, line: editor.selection.active.line + 1 };
    if (isOwnMove(location.path, location.line)) return;
    forgetOwnMove();
    this.cursorTimer = setTimeout(() => {
      if (this.panel) this.send({ type: "cursor", location });
    }, CURSOR_DELAY_MS);
  }
}

/** Where a workspace keeps views of its own. */
function viewsFolder(folder: vscode.WorkspaceFolder): vscode.Uri {
  return vscode.Uri.joinPath(folder.uri, ".clew", "views");
}

function page(webview: vscode.Webview, extensionUri: vscode.Uri): string {
  const file = (name: string) =>
    webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, "dist", "panel", name)).toString();
  const nonce = randomBytes(16).toString("base64");
  const policy = [
    "default-src 'none'",
    `script-src ${webview.cspSource} 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `connect-src ${webview.cspSource}`,
    "worker-src blob:",
    `img-src ${webview.cspSource} data:`,
  ].join("; ");
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta http-equiv="Content-Security-Policy" content="${policy}" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Clew</title>
    <link rel="stylesheet" href="${file("main.css")}" />
  </head>
  <body data-host="editor">
    <div id="app"></div>
    <script type="module" nonce="${nonce}" src="${file("main.js")}"></script>
  </body>
</html>
`;
}
