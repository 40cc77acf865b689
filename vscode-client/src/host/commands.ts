/** The commands of the extension, each a few lines over the server and the panel. */
import * as vscode from "vscode";
import type {
  ChooseBaselineParams,
  CompareParams,
  CriticalPathParams,
  DiffParams,
  LocalizeParams,
  RecordableParams,
  SelectRunParams,
  SliceParams,
  Target,
  ValueParams,
  WizardParams,
} from "../shared/protocol";
import type { Server } from "./client";
import { activeFile, askLine, isLargeLog, targetAt } from "./logs/links";
import type { PanelHost } from "./panel";
import type { Recorder } from "./recording";
import { pickBaseline, pickRun } from "./runStatusBar";
import { askGuideQuestions } from "./guideQuestions";
import { paramsAtCursor, StateCommands } from "./stateCommands";
import { testId } from "./testItems";
import type { WalkCommands } from "./walkCommands";
import type { WatchCommand } from "./watchCommand";

export function registerCommands(
  server: Server,
  panel: PanelHost,
  recorder: Recorder,
  walking: WalkCommands,
  watching: WatchCommand,
): vscode.Disposable {
  const commands: Record<string, (...values: never[]) => unknown> = {
    "clew.openPanel": async () => {
      if (await server.start(false)) panel.open();
    },
    "clew.openSlice": (params: SliceParams) => {
      panel.open({ type: "open", view: "slice", params });
    },
    "clew.why": async (params?: unknown) => {
      const asked = isSliceParams(params) ? params : await askWhy(params);
      if (asked && (await server.start(false))) panel.open({ type: "open", view: "slice", params: asked });
    },
    "clew.openValue": async (params?: unknown) => {
      if (!(await server.start(false))) return;
      const asked = isValueParams(params) ? params : await valueAtCursor();
      if (asked) panel.open({ type: "open", view: "value", params: asked });
    },
    "clew.whyTest": async (item?: unknown) => {
      const test = testId(item);
      if (test && (await server.start(false))) {
        panel.open({ type: "open", view: "slice", params: { target: { test } } });
      }
    },
    "clew.showCriticalPath": async () => {
      const params: CriticalPathParams = { target: cursorTarget() ?? {} };
      if (await server.start(false)) panel.open({ type: "open", view: "path", params });
    },
    "clew.openCompare": async (params?: CompareParams) => {
      const asked = params ?? { before: [], after: [] };
      if (await server.start(false)) panel.open({ type: "open", view: "compare", params: asked });
    },
    "clew.findSuspects": async (params?: LocalizeParams) => {
      const asked = params ?? { suspect: [] };
      if (await server.start(false)) panel.open({ type: "open", view: "suspects", params: asked });
    },
    "clew.showPatterns": async () => {
      if (await server.start(false)) panel.open({ type: "open", view: "patterns", params: {} });
    },
    "clew.showFunctions": showFunctions,
    "clew.chooseBaseline": (params?: ChooseBaselineParams) => chooseBaseline(server, params),
    "clew.selectRun": (params?: SelectRunParams) => selectRun(server, params),
    "clew.compareRuns": () => compareRuns(server, panel),
    "clew.record": (params?: unknown) => recorder.record(isRecordableParams(params) ? params : cursorPlace()),
    "clew.recordTest": () => recorder.record({ ...cursorPlace(), kind: "test" }),
    "clew.recordAgain": () => recorder.again(),
    "clew.stopRecording": () => {
      recorder.stop();
    },
    "clew.watch": (params?: unknown) => watching.watch(isSelectRunParams(params) ? params.run : undefined),
    "clew.analyseErrors": () => analyse(server, panel, "errors"),
    "clew.analysePath": () => analyse(server, panel, "path"),
    "clew.analyseRegression": () => analyse(server, panel, "regression"),
    ...new StateCommands(server, panel).commands(),
    ...walking.commands(),
    "clew.restartServer": () => server.restart(),
    "clew.showOutput": () => {
      server.output.show();
    },
  };
  return vscode.Disposable.from(
    ...Object.entries(commands).map(([name, run]) =>
      vscode.commands.registerCommand(name, async (...values: never[]) => {
        try {
          await run(...values);
        } catch (error) {
          void vscode.window.showErrorMessage(`clew: ${error instanceof Error ? error.message : String(error)}`);
        }
      }),
    ),
  );
}

/** The questions are asked here, what is found is shown in the panel. */
async function analyse(server: Server, panel: PanelHost, analysis: WizardParams["analysis"]): Promise<void> {
  if (!(await server.start(false))) return;
  const params = await askGuideQuestions(server, analysis);
  if (params) panel.open({ type: "open", view: "wizard", params });
}

/** What a rule of a spec matches: one function is shown, of several the editor shows a list. */
async function showFunctions(uri: string, at: { line: number; character: number }): Promise<void> {
  const spec = vscode.Uri.parse(uri);
  const position = new vscode.Position(at.line, at.character);
  const found = await vscode.commands.executeCommand<(vscode.Location | vscode.LocationLink)[]>(
    "vscode.executeDefinitionProvider",
    spec,
    position,
  );
  const places = found.map((one) =>
    one instanceof vscode.Location ? one : new vscode.Location(one.targetUri, one.targetRange),
  );
  const [only] = places;
  if (only && places.length === 1) {
    await vscode.window.showTextDocument(only.uri, { selection: only.range });
  } else {
    await vscode.commands.executeCommand("editor.action.showReferences", spec, position, places);
  }
}

async function selectRun(server: Server, params: SelectRunParams | undefined): Promise<void> {
  const run = params?.run ?? (await pickRun(await server.ask("clew/runs", {}), "Run to show"))?.id;
  if (run) await server.ask("clew/selectRun", { run });
}

async function chooseBaseline(server: Server, params: ChooseBaselineParams | undefined): Promise<void> {
  const run = params?.run ?? (await pickBaseline(await server.ask("clew/runs", {})));
  if (run !== undefined) await server.ask("clew/chooseBaseline", { run });
}

async function compareRuns(server: Server, panel: PanelHost): Promise<void> {
  const answer = await server.ask("clew/runs", {});
  const before = await pickRun(answer, "Compare two runs: the earlier run");
  if (!before) return;
  const after = await pickRun(answer, `Compare ${before.name} with: the later run`, before.id);
  if (!after) return;
  const params: DiffParams = { before: before.id, after: after.id };
  panel.open({ type: "open", view: "diff", params });
}

/** The menu passes the file instead of parameters. */
function isSliceParams(value: unknown): value is SliceParams {
  return typeof value === "object" && value !== null && "target" in value;
}

function isValueParams(value: unknown): value is ValueParams {
  return typeof value === "object" && value !== null && ("expression" in value || "test" in value);
}

/** The question that the code action at the cursor asks. */
async function valueAtCursor(): Promise<ValueParams | undefined> {
  const params = await paramsAtCursor(["clew.openValue"], isValueParams);
  if (!params) {
    void vscode.window.showInformationMessage(
      "clew: put the cursor on a variable, an attribute or a call in a function that a test of the selected run called",
    );
  }
  return params;
}

/** Not the file that a menu passes. */
function isRecordableParams(value: unknown): value is RecordableParams {
  return typeof value === "object" && value !== null && ("kind" in value || "spec" in value);
}

/** Not the file that a menu passes. */
function isSelectRunParams(value: unknown): value is SelectRunParams & { run: string } {
  return typeof value === "object" && value !== null && "run" in value && typeof value.run === "string";
}

/** The Python file in front and its cursor, for the tests and the program in it. */
function cursorPlace(): RecordableParams {
  const editor = vscode.window.activeTextEditor;
  if (editor?.document.languageId !== "python" || editor.document.uri.scheme !== "file") return {};
  return { path: editor.document.uri.fsPath, line: editor.selection.active.line + 1 };
}

async function askWhy(given: unknown): Promise<SliceParams | undefined> {
  const target = isLineNumber(given) ? marginTarget(given) : cursorTarget();
  if (target) return { target };
  const file = activeFile();
  if (isLargeLog(file)) {
    const line = await askLine(file, "Why was this logged?");
    return line && { target: line };
  }
  const text = await vscode.window.showInputBox({
    title: "Why was this logged?",
    prompt: "Part of the log message. Empty: the latest error.",
    placeHolder: "Write request failed",
  });
  return text === undefined ? undefined : { target: text ? { text } : {} };
}

/** The line under the cursor of a log or a Python file. */
function cursorTarget(): Target | undefined {
  const editor = vscode.window.activeTextEditor;
  return editor && targetAt(editor.document, editor.selection.active.line);
}

/** What the menu of a line's number passes. */
function isLineNumber(value: unknown): value is { uri: vscode.Uri; lineNumber: number } {
  return typeof value === "object" && value !== null && "uri" in value && "lineNumber" in value;
}

function marginTarget({ uri, lineNumber }: { uri: vscode.Uri; lineNumber: number }): Target | undefined {
  const document = vscode.workspace.textDocuments.find((one) => one.uri.toString() === uri.toString());
  if (document) return targetAt(document, lineNumber - 1);
  return uri.scheme === "file" ? { location: { path: uri.fsPath, line: lineNumber } } : undefined;
}
