/** Commands about the state under the cursor: its last values, who wrote it, and its history in the panel. */
import * as vscode from "vscode";
import type { HistoryParams, HistoryResult, Location, StateWrite } from "../shared/protocol";
import type { Server } from "./client";
import { openLocation } from "./openLocation";
import type { PanelHost } from "./panel";

/** How many of the last values a list shows. */
const MOST_VALUES = 12;

export class StateCommands {
  constructor(
    private readonly server: Server,
    private readonly panel: PanelHost,
  ) {}

  commands(): Record<string, (params?: unknown) => unknown> {
    return {
      "clew.lastValues": (given) => this.ask("clew.lastValues", given, (params) => this.lastValues(params)),
      "clew.whoWrote": (given) => this.ask("clew.whoWrote", given, (params) => this.whoWrote(params)),
      "clew.openHistory": (given) =>
        this.ask("clew.openHistory", given, (params) => {
          this.open(params);
        }),
    };
  }

  /** Acts on what a code action or a hover gives; the palette gives nothing, so the code action at the cursor is asked. */
  private async ask(
    command: string,
    given: unknown,
    act: (params: HistoryParams) => void | Promise<void>,
  ): Promise<void> {
    if (!(await this.server.start(false))) return;
    // A run without writes offers only its history, which tells how to record them.
    const params = isHistoryParams(given)
      ? given
      : await paramsAtCursor([command, "clew.openHistory"], isHistoryParams);
    if (params) await act(params);
    else {
      void vscode.window.showInformationMessage(
        "clew: put the cursor on a variable or an attribute in a function that ran in the selected run",
      );
    }
  }

  private open(params: HistoryParams): void {
    this.panel.open({ type: "open", view: "value", params });
  }

  private async lastValues(params: HistoryParams): Promise<void> {
    const result = await this.server.ask("clew/history", params);
    const marked = result.writes.findIndex(({ isMarked }) => isMarked);
    const last = marked < 0 ? result.writes.length : marked + 1;
    const writes = result.writes.slice(Math.max(0, last - MOST_VALUES), last).reverse();
    if (writes.length === 0) {
      await this.explain(result, params);
      return;
    }
    const chosen = await vscode.window.showQuickPick(
      writes.map((write) => ({ ...inWords(write, result), write })),
      { title: `Last values of ${result.state}, the newest first`, matchOnDescription: true, matchOnDetail: true },
    );
    if (chosen?.write.location) await this.go(chosen.write.location, result);
  }

  private async whoWrote(params: HistoryParams): Promise<void> {
    const result = await this.server.ask("clew/history", params);
    const { last } = result;
    if (!last) {
      await this.explain(result, params);
      return;
    }
    if (last.location) await this.go(last.location, result);
    const chosen = await vscode.window.showInformationMessage(
      ["clew:", last.sentence, ...result.notes].join(" "),
      "History",
    );
    if (chosen) this.open(params);
  }

  /** Says why there is no answer; the panel has the command that records what is missing. */
  private async explain({ message, command }: HistoryResult, params: HistoryParams): Promise<void> {
    const how = command ? ["Show How to Record"] : [];
    if (await vscode.window.showInformationMessage(`clew: ${message}`, ...how)) this.open(params);
  }

  private async go(location: Location, { run }: HistoryResult): Promise<void> {
    const now = await this.server.ask("clew/present", { location, run: run.id });
    await openLocation(now.location, now.state === "stale" ? now.message : "");
  }
}

function inWords(write: StateWrite, { lanes }: HistoryResult): vscode.QuickPickItem {
  const lane = lanes[write.lane];
  const caller = lane?.caller ? `, called by ${lane.caller}` : "";
  const request = lane?.request ? ` for ${lane.request}` : "";
  const marks = [write.isMarked ? "read last" : "", write.race ? "race" : ""].filter(Boolean).join(", ");
  return {
    label: `${write.state ? `${write.state} ` : ""}${write.change}`,
    description: marks,
    detail: `${write.by}${caller}${lane ? `, in ${lane.who}` : ""}${request} · +${(write.timeNs / 1e9).toFixed(6)} s`,
  };
}

function isHistoryParams(value: unknown): value is HistoryParams {
  return typeof value === "object" && value !== null && ("expression" in value || "state" in value || "event" in value);
}

/** The arguments of the first of some commands that the code actions at the cursor offer. */
export async function paramsAtCursor<T>(
  commands: readonly string[],
  isParams: (value: unknown) => value is T,
): Promise<T | undefined> {
  const editor = vscode.window.activeTextEditor;
  const offered = editor
    ? await vscode.commands.executeCommand<(vscode.CodeAction | vscode.Command)[]>(
        "vscode.executeCodeActionProvider",
        editor.document.uri,
        new vscode.Range(editor.selection.active, editor.selection.active),
      )
    : [];
  for (const one of offered) {
    const command = typeof one.command === "object" ? one.command : "arguments" in one ? one : undefined;
    if (!command || !commands.includes(command.command)) continue;
    const params: unknown = command.arguments?.[0];
    if (isParams(params)) return params;
  }
  return undefined;
}
