/**
 * Finds a Python with clew: the setting, the choice of the Python extension, the `.venv` of the workspace, `python3`.
 *
 * Invariant: an interpreter that the user named is never replaced silently; the user sees what is wrong with it.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import * as settings from "./settings";

export interface Interpreter {
  kind: "found";
  path: string;
  version: string;
}

export interface MissingInterpreter {
  kind: "missing";
  /** What is wrong, and with what. */
  message: string;
  /** A shell command that would mend it, empty where there is none. */
  install: string;
}

interface Candidate {
  path: string;
  origin: string;
  /** The user chose it, so that a problem with it is the user's to know. */
  chosen: boolean;
}

/** The part of the Python extension's interface that is used here. */
interface PythonExtension {
  environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { id: string; path: string };
    resolveEnvironment(id: {
      id: string;
      path: string;
    }): Promise<{ executable: { uri?: vscode.Uri | undefined } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

export async function findInterpreter(
  folder: vscode.WorkspaceFolder | undefined,
): Promise<Interpreter | MissingInterpreter> {
  const problems: { candidate: Candidate; problem: string }[] = [];
  for (const candidate of await candidates(folder)) {
    const answer = await clewVersion(candidate.path, folder?.uri.fsPath);
    if (answer.version) return { kind: "found", path: candidate.path, version: answer.version };
    problems.push({ candidate, problem: answer.problem });
    if (candidate.chosen) break;
  }
  const first = problems[0];
  if (!first)
    return {
      kind: "missing",
      message: "No Python found. Set clew.python to a Python with clew installed.",
      install: "",
    };
  const { candidate, problem } = first;
  return {
    kind: "missing",
    message: `${candidate.path} (${candidate.origin}) ${problem}`,
    install: problem.startsWith("has no clew") ? `${quote(candidate.path)} -m pip install clew` : "",
  };
}

/** Calls `listener` when the Python extension's choice changes; nothing where that extension is absent. */
export async function onInterpreterChanged(listener: () => void): Promise<vscode.Disposable> {
  const extension = await pythonExtension();
  const changed = settings.onPythonChanged(listener);
  if (!extension) return changed;
  return vscode.Disposable.from(
    changed,
    extension.environments.onDidChangeActiveEnvironmentPath(() => {
      listener();
    }),
  );
}

async function candidates(folder: vscode.WorkspaceFolder | undefined): Promise<Candidate[]> {
  const found: Candidate[] = [];
  const named = settings.python(folder);
  if (named) return [{ path: expand(named, folder), origin: "the setting clew.python", chosen: true }];
  const active = await activeEnvironment(folder);
  if (active) found.push({ path: active, origin: "the Python extension's interpreter", chosen: false });
  if (folder) {
    for (const relative of [".venv/bin/python", "venv/bin/python", ".venv/Scripts/python.exe"]) {
      const candidate = path.join(folder.uri.fsPath, relative);
      if (existsSync(candidate)) found.push({ path: candidate, origin: "the workspace's environment", chosen: false });
    }
  }
  for (const name of process.platform === "win32" ? ["python"] : ["python3", "python"]) {
    found.push({ path: name, origin: "on PATH", chosen: false });
  }
  return found.filter((one, index) => found.findIndex((other) => other.path === one.path) === index);
}

async function pythonExtension(): Promise<PythonExtension | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (!extension) return undefined;
  try {
    return await extension.activate();
  } catch {
    return undefined; // another extension's failure to start leaves the other candidates
  }
}

async function activeEnvironment(folder: vscode.WorkspaceFolder | undefined): Promise<string | undefined> {
  const extension = await pythonExtension();
  if (!extension) return undefined;
  const resolved = await extension.environments.resolveEnvironment(
    extension.environments.getActiveEnvironmentPath(folder?.uri),
  );
  return resolved?.executable.uri?.fsPath;
}

/** `PYTHONSAFEPATH` keeps a workspace's own `select.py` or `queue.py` from being imported in the server's stead. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONSAFEPATH: "1", PYTHONUTF8: "1" };
}

function clewVersion(python: string, cwd: string | undefined): Promise<{ version: string; problem: string }> {
  return new Promise((resolve) => {
    const options = { env: serverEnvironment(), timeout: 30_000, ...(cwd === undefined ? {} : { cwd }) };
    execFile(python, ["-m", "clew", "--version"], options, (error, stdout, stderr) => {
      const version = /\d+\.\d[\w.+-]*/.exec(stdout)?.[0];
      if (!error && version) resolve({ version, problem: "" });
      else if (error?.code === "ENOENT") resolve({ version: "", problem: "does not exist." });
      else if (error?.killed) resolve({ version: "", problem: "did not answer within 30 seconds." });
      else if (/No module named '?clew/.test(stderr)) resolve({ version: "", problem: "has no clew installed." });
      else resolve({ version: "", problem: `cannot run clew: ${lastLine(stderr) || (error?.message ?? stdout)}` });
    });
  });
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1) ?? "";
}

function expand(named: string, folder: vscode.WorkspaceFolder | undefined): string {
  const root = folder?.uri.fsPath ?? "";
  const home = process.env.HOME ?? "";
  const text = named.replaceAll("${workspaceFolder}", root).replace(/^~(?=\/)/, home);
  return text.includes("/") && !path.isAbsolute(text) && root ? path.join(root, text) : text;
}

function quote(text: string): string {
  return /^[\w./\\:-]+$/.test(text) ? text : `"${text}"`;
}
