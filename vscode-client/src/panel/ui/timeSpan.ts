/**
 * A time span of a run, its zoom and pan, and the ticks of its axis.
 *
 * Times are nanoseconds since the start of the run as doubles, which hold integers up to 2^53, about 104 days. Invariant: screen
 * positions come from differences of times, so they are exact at any time of the run. The time under the pointer stays in place during a
 * zoom.
 */

export interface Span {
  from: number;
  to: number;
}

/** No closer than this: a nanosecond is then as wide as a hand. */
export const CLOSEST_NS = 16;

export function lengthOf({ from, to }: Span): number {
  return to - from;
}

/** The span that the whole of a run fits into, with a little room at its end. */
export function wholeSpan(from: number, to: number): Span {
  const length = Math.max(to - from, CLOSEST_NS);
  return { from, to: from + Math.ceil(length * 1.01) };
}

/** Moved and shortened until it lies within `all`. */
export function clamped(span: Span, all: Span): Span {
  const length = Math.min(Math.max(lengthOf(span), CLOSEST_NS), lengthOf(all));
  const from = Math.min(Math.max(span.from, all.from), all.to - length);
  return { from, to: from + length };
}

/** `factor` below 1 comes closer; the time at `share` (0 to 1) of the width stays there. */
export function zoomed(span: Span, factor: number, share: number, all: Span): Span {
  const length = Math.min(Math.max(lengthOf(span) * factor, CLOSEST_NS), lengthOf(all));
  const kept = span.from + lengthOf(span) * share;
  const from = kept - length * share;
  return clamped({ from, to: from + length }, all);
}

export function panned(span: Span, by: number, all: Span): Span {
  return clamped({ from: span.from + by, to: span.to + by }, all);
}

/** An interval with some room on both sides. */
export function padded(from: number, to: number, all: Span): Span {
  const room = Math.max((to - from) * 0.15, CLOSEST_NS / 4);
  return clamped({ from: Math.floor(from - room), to: Math.ceil(to + room) }, all);
}

/** Where a time is, in px from the left. */
export function xOf(ns: number, span: Span, width: number): number {
  return ((ns - span.from) / lengthOf(span)) * width;
}

export function nsAt(x: number, span: Span, width: number): number {
  return span.from + (x / width) * lengthOf(span);
}

export interface Tick {
  ns: number;
  label: string;
}

const SECOND = 1e9;
/** Steps of the axis above a second: of clocks, not of tens. */
const LONG = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400].map(
  (s) => s * SECOND,
);

/** The step between ticks that are at least `least` px apart, in whole nanoseconds. */
export function stepOf(span: Span, width: number, least: number): number {
  const ns = (lengthOf(span) / Math.max(width, 1)) * least;
  if (ns > SECOND) return LONG.find((step) => step >= ns) ?? Math.ceil(ns / (86400 * SECOND)) * 86400 * SECOND;
  const power = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(ns, 1))));
  return [1, 2, 5, 10].map((one) => one * power).find((step) => step >= ns) ?? 10 * power;
}

/** Ticks at multiples of the step, each with enough digits to differ from its neighbours. */
export function ticks(span: Span, width: number, least = 110): Tick[] {
  const step = stepOf(span, width, least);
  const found: Tick[] = [];
  for (let number = Math.ceil(span.from / step); number * step <= span.to; number += 1) {
    found.push({ ns: number * step, label: clock(number * step, step) });
  }
  return found;
}

/** `1:02:03.004 005 s`: a time since the run's start, to the digits of `step`. */
export function clock(ns: number, step = 1): string {
  const sign = ns < 0 ? "−" : "";
  const all = Math.abs(ns);
  const seconds = Math.floor(all / SECOND);
  const rest = Math.round(all - seconds * SECOND);
  const digits = step >= SECOND ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;
  const fraction = digits === 0 ? "" : `.${groups(String(rest).padStart(9, "0").slice(0, digits))}`;
  if (seconds < 60) return `${sign}${seconds}${fraction} s`;
  const two = (value: number): string => String(value).padStart(2, "0");
  const minutes = Math.floor(seconds / 60);
  const clocked =
    minutes < 60
      ? `${minutes}:${two(seconds % 60)}`
      : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
  return `${sign}${clocked}${fraction}`;
}

/** Digits in threes, by thin spaces. */
function groups(digits: string): string {
  return digits.replace(/(\d{3})(?=\d)/g, "$1\u2009");
}
