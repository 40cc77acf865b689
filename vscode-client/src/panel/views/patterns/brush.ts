/**
 * A brush on the time axis of a whole run: the grip of a drag, and the resulting window.
 *
 * Invariant: a window lies within the run, its ends are whole nanoseconds, and it is never shorter than `CLOSEST_NS`.
 */
import { CLOSEST_NS, lengthOf, type Span, clamped } from "../../ui/timeSpan";

/** One end of the window, all of it, or a new one. */
export type Grip = "from" | "to" | "all" | "new";

/** What is at a time, where `near` ns still count as the window's end. The whole run has no window to take hold of but its ends. */
export function gripAt(ns: number, span: Span, all: Span, near: number): Grip {
  const [from, to] = [Math.abs(ns - span.from), Math.abs(ns - span.to)];
  if (Math.min(from, to) <= near) return from < to ? "from" : "to";
  return ns > span.from && ns < span.to && lengthOf(span) < lengthOf(all) ? "all" : "new";
}

/** The window after a hand that took hold of `span` at `start` has come to `now`. */
export function dragged(grip: Grip, start: number, now: number, span: Span, all: Span): Span {
  if (grip === "all") return rounded(clamped({ from: span.from + now - start, to: span.to + now - start }, all), all);
  const [fixed, moved] = grip === "from" ? [span.to, now] : grip === "to" ? [span.from, now] : [start, now];
  return between(fixed, moved, all);
}

/** From one time to another, whichever is first. */
export function between(a: number, b: number, all: Span): Span {
  const [from, to] = [Math.max(all.from, Math.min(a, b)), Math.min(all.to, Math.max(a, b))];
  return rounded(clamped({ from, to: Math.max(to, from + CLOSEST_NS) }, all), all);
}

export function rounded(span: Span, all: Span): Span {
  return { from: Math.max(all.from, Math.floor(span.from)), to: Math.min(all.to, Math.ceil(span.to)) };
}

export function isWhole(span: Span, all: Span): boolean {
  return span.from <= all.from && span.to >= all.to;
}

const UNITS: Readonly<Record<string, number>> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, "": 1e9 };

/** A time as people write it, `1:02.5`, `1.25 s`, `300 µs`, `12,500 ns`, seconds where there is no unit; undefined for anything else. */
export function timeOf(text: string): number | undefined {
  const found = /^((?:\d+:){0,2})(\d*\.?\d*)(ns|us|µs|ms|s|)$/i.exec(text.replace(/[\s_,]/g, ""));
  const [, clocked = "", digits = "", unit = ""] = found ?? [];
  if (!/\d/.test(digits)) return undefined;
  const minutes = clocked.split(":").reduce((sum, part) => (part ? sum * 60 + Number(part) : sum), 0);
  return minutes * 60e9 + Math.round(Number(digits) * (UNITS[unit.toLowerCase()] ?? 1));
}
