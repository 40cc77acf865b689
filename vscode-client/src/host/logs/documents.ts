/** The documents of VS Code that may be logs, and the output channel that is not one. */
import type * as vscode from "vscode";
import type { DocumentSelector } from "vscode-languageclient/node";

/** Documents that may be logs; for the last three patterns the server checks the text. */
export const LOGS: DocumentSelector = [
  { scheme: "file", language: "log" },
  { scheme: "file", pattern: "**/*.{log,log.*,log-*}" },
  { scheme: "output" },
  { scheme: "untitled", language: "log" },
  { scheme: "untitled", language: "plaintext" },
  { scheme: "file", pattern: "**/*.{out,err,txt}" },
];

/** Is it the output channel that shows what our own server says? */
export function isOwnOutput(document: { uri: vscode.Uri }): boolean {
  return document.uri.scheme === "output" && /clew/i.test(document.uri.path);
}
