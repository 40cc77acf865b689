/** Texts of the status bar and of notices about a recording. The functions are pure, so tests need no editor. */
import type { ProgressResult, Recordable, RunGrew, RunRef } from "../shared/protocol";

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** `12 s · 3.4 MB · 120,000 events · 2 errors` */
export function progressText(now: ProgressResult | undefined): string {
  if (!now?.run) return "starting";
  const parts = [elapsed(now.elapsedNs), size(now.bytes)];
  if (now.looked) {
    parts.push(counted(now.events, "event"));
    if (now.errors > 0) parts.push(counted(now.errors, "error"));
  }
  return parts.join(" · ");
}

/** The same in full, a line each. */
export function progressTip(what: Recordable, now: ProgressResult | undefined, recordings: number): string {
  const lines = [`Recording ${what.name}`, what.detail];
  if (now?.run) {
    lines.push(`${counted(now.processes, "process", "processes")}, ${size(now.bytes)} on disk`);
    if (now.looked) {
      const seconds = Math.max(now.elapsedNs / 1e9, 1);
      lines.push(
        `${counted(now.events, "event")}, ${Math.round(now.events / seconds).toLocaleString("en")} per second`,
      );
      lines.push(`${counted(now.errors, "error")}, ${counted(now.warnings, "warning")} logged`);
      if (now.slowest) lines.push(`most time in ${now.slowest}`);
    }
  }
  if (recordings > 1) lines.push(`and ${counted(recordings - 1, "more recording")}`);
  return [...lines, "", "Click to stop."].join("\n");
}

export function resultText(what: Recordable, run: RunRef, exitCode: number | undefined): string {
  const how = exitCode === undefined ? "was stopped" : exitCode === 0 ? "ended" : `ended with exit code ${exitCode}`;
  return `clew: ${what.name} ${how}; recorded as ${run.id}.`;
}

/** `● watching shop, 12,345 events`, for a live run */
export function watchText(name: string, growth?: RunGrew): string {
  return `● watching ${name}${growth ? `, ${counted(growth.events, "event")}` : ""}`;
}

/** The same in full, a line each. */
export function watchTip(name: string, growth?: RunGrew): string {
  const lines = [`Watching ${name} while it is recorded`];
  if (growth) {
    lines.push(`${elapsed(growth.elapsedNs)}, ${counted(growth.processes, "process", "processes")}`);
    lines.push(`${counted(growth.calls, "call")}, ${counted(growth.errors, "error")} logged`);
  }
  return [...lines, "", "Click to show the panel."].join("\n");
}

/** The name of the terminal. */
export function taskName(what: Recordable): string {
  return `record ${what.name}`;
}

function elapsed(ns: number): string {
  const seconds = Math.floor(ns / 1e9);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit] ?? ""}`;
}

function counted(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
