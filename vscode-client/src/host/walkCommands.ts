/**
 * Walks in the editor: each step opens the event's location, shows its values and highlights it in the panel.
 *
 * Invariant: at most one walk is open, the same one in the editor and in the panel. The walk keys are active only while a walk is open.
 */
import * as vscode from "vscode";
import type { Location, PresentResult, WalkParams, WalkResult } from "../shared/protocol";
import { begin, type Step, stepped, type Walk, WAYS } from "../shared/walk";
import type { Server } from "./client";
import { activeFile, askLine, isLargeLog, targetAt } from "./logs/links";
import type { PanelHost } from "./panel";
import { openLocation } from "./openLocation";

const STEPS: readonly Step[] = [...WAYS, "back", "forward"];
const LONGEST_VALUE = 120;
const LONGEST_ITEM = 48;

export class WalkCommands implements vscode.Disposable {
  private walk: Walk | undefined;
  /** Its location in the current text. */
  private place: PresentResult | undefined;
  private last: Promise<void> = Promise.resolve();
  private readonly item = vscode.window.createStatusBarItem("walk", vscode.StatusBarAlignment.Left, 39);
  private readonly values = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    backgroundColor: new vscode.ThemeColor("editor.rangeHighlightBackground"),
    after: { color: new vscode.ThemeColor("editorCodeLens.foreground"), margin: "0 0 0 3em" },
  });
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly panel: PanelHost,
  ) {
    this.item.name = "Clew: walk";
    this.item.command = "clew.walk.show";
    this.subscriptions = [
      panel.onWalked((walk) => {
        void this.show(walk ?? undefined);
      }),
      vscode.window.onDidChangeVisibleTextEditors(() => {
        this.mark();
      }),
    ];
  }

  /** The commands by their names. */
  commands(): Record<string, (...values: never[]) => unknown> {
    const steps = STEPS.map((step) => [`clew.walk.${step}`, () => this.step(step)] as const);
    return {
      "clew.walk.start": (params?: unknown) => this.start(params),
      "clew.walk.choose": () => this.choose(),
      "clew.walk.show": () => {
        this.panel.open({ type: "open", view: "walk", params: {} });
        this.tellPanel();
      },
      "clew.walk.end": () => {
        void this.show(undefined);
        this.panel.walked(null);
      },
      ...Object.fromEntries(steps),
    };
  }

  dispose(): void {
    vscode.Disposable.from(this.item, this.values, ...this.subscriptions).dispose();
  }

  private async start(given: unknown): Promise<void> {
    const params = isWalkParams(given) ? given : await askWhere();
    if (!params || !(await this.server.start(false))) return;
    await this.arrive(await begin((asked) => this.server.ask("clew/walk", asked), params));
  }

  /** Steps wait for each other: keys come faster than answers. */
  private step(step: Step, choice = 0): Promise<void> {
    const made = this.last.then(async () => {
      if (!this.walk) throw new Error("No walk is open. Start one at a log line or a function.");
      await this.arrive(await stepped((params) => this.server.ask("clew/walk", params), this.walk, step, choice));
    });
    this.last = made.catch(() => undefined);
    return made;
  }

  /** One of all events around, by what the step to it means. */
  private async choose(): Promise<void> {
    const ways = this.walk?.result.ways ?? [];
    const items = ways.flatMap((way) =>
      way.ends.map((end, choice) => ({
        label: `${MARKS[way.step]} ${end.title}`,
        description: `${end.process} / ${end.strand}`,
        detail: end.sentence,
        step: way.step,
        choice,
      })),
    );
    const chosen = await vscode.window.showQuickPick(items, { title: "Walk to", matchOnDetail: true });
    if (chosen) await this.step(chosen.step, chosen.choice);
  }

  private async arrive(walk: Walk): Promise<void> {
    await this.show(walk);
    this.tellPanel();
  }

  private tellPanel(): void {
    if (this.walk) this.panel.walked(this.walk);
  }

  private async show(walk: Walk | undefined): Promise<void> {
    this.walk = walk;
    void vscode.commands.executeCommand("setContext", "clew.walking", walk !== undefined);
    const card = walk?.result.card;
    if (walk?.result.moved !== false)
      this.place = walk && card?.location ? await this.present(walk, card.location) : undefined;
    if (!walk || !card) this.item.hide();
    else {
      const title = card.title.length > LONGEST_ITEM ? `${card.title.slice(0, LONGEST_ITEM - 1)}…` : card.title;
      this.item.text = `$(git-commit) ${title}`;
      this.item.tooltip = told(walk.result);
      this.item.show();
      // A step without a destination shows its message in the status bar.
      if (!walk.result.moved) void vscode.window.setStatusBarMessage(`clew: ${walk.result.sentence}`, 5_000);
      else if (this.place)
        await openLocation(this.place.location, this.place.state === "stale" ? this.place.message : "");
    }
    this.mark();
  }

  private present(walk: Walk, location: Location): Promise<PresentResult> {
    return this.server
      .ask("clew/present", { location, run: walk.result.run.id })
      .catch(() => ({ location, state: "stale", message: "" }));
  }

  /** The values at the line where the walk is. */
  private mark(): void {
    const card = this.walk?.result.card;
    const place = this.place?.location;
    for (const editor of vscode.window.visibleTextEditors) {
      const { document } = editor;
      const isHere = card && place && document.uri.scheme === "file" && document.uri.fsPath === place.path;
      if (!isHere || place.line > document.lineCount) {
        editor.setDecorations(this.values, []);
        continue;
      }
      const line = document.lineAt(place.line - 1);
      const facts = card.facts.map((fact) => `${fact.name} = ${fact.value}`).join("   ");
      const text = `${card.title}${facts ? `   ${facts}` : ""}`;
      const contentText = text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE - 1)}…` : text;
      editor.setDecorations(this.values, [{ range: line.range, renderOptions: { after: { contentText } } }]);
    }
  }
}

const MARKS = { cause: "←", effect: "→", previous: "↑", next: "↓", out: "⤴", in: "⤵" };

function told({ card, sentence, step, ways }: WalkResult): vscode.MarkdownString {
  const text = new vscode.MarkdownString();
  text.appendMarkdown("**clew walk**\n\n").appendText(`${card?.title ?? ""}\n`);
  if (sentence) text.appendText(`${step}: ${sentence}\n`);
  for (const way of ways) {
    const first = way.ends[0];
    text.appendText(
      `${MARKS[way.step]} ${first ? first.sentence : way.stop}${way.count > 1 ? ` (${way.count})` : ""}\n`,
    );
  }
  return text.appendMarkdown("\n\nClick to show it in the panel. Ctrl+Alt+arrow makes a step, Escape ends the walk.");
}

function isWalkParams(value: unknown): value is WalkParams {
  return typeof value === "object" && value !== null && "target" in value;
}

/** The line under the cursor; of a function in Python, which of its calls. */
async function askWhere(): Promise<WalkParams | undefined> {
  const file = activeFile();
  if (isLargeLog(file)) {
    const line = await askLine(file, "Where does the walk start?");
    return line && { target: line };
  }
  const editor = vscode.window.activeTextEditor;
  const target = editor && targetAt(editor.document, editor.selection.active.line);
  if (!target?.location || editor?.document.languageId !== "python") return { target: target ?? {} };
  const items = [
    { label: "The last call", pick: "last" },
    { label: "The first call", pick: "first" },
    { label: "The slowest call", pick: "slowest" },
    { label: "The last call that raised an exception", pick: "failed" },
  ] as const;
  const chosen = await vscode.window.showQuickPick(items, { title: "Call of this function to start at" });
  return chosen && { target, pick: chosen.pick };
}
