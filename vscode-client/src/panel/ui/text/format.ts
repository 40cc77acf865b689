/** Formats numbers, times and names in the same words as the command line. */

/** `840 ns`, `1.2 ms`, `3.4 s`, `2 min 05 s`: three significant digits at most. */
export function duration(ns: number): string {
  const sign = ns < 0 ? "−" : "";
  const value = Math.abs(ns);
  if (value < 1_000) return `${sign}${Math.round(value)} ns`;
  for (const [bound, divisor, unit] of [
    [1e6, 1e3, "µs"],
    [1e9, 1e6, "ms"],
    [6e10, 1e9, "s"],
  ] as const) {
    // What would be rounded up to 1000 of a unit is one of the next.
    if (value < bound * 0.9995) return `${sign}${digits(value / divisor)} ${unit}`;
  }
  const seconds = Math.round(value / 1e9);
  return `${sign}${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
}

/** A change, always with its sign: `+1.2 ms`, `−40 µs`, `±0`. */
export function change(ns: number): string {
  if (ns === 0) return "±0";
  return ns > 0 ? `+${duration(ns)}` : duration(ns);
}

/** A time since the run's start: `+0.012345 s`. */
export function offset(ns: number): string {
  return `+${(ns / 1e9).toFixed(6)} s`;
}

/** `1 event`, `12,345 events`, `2 processes`. */
export function count(number: number, noun: string): string {
  if (number === 1) return `1 ${noun}`;
  const plural = noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : /(s|x|ch)$/.test(noun) ? `${noun}es` : `${noun}s`;
  return `${thousands(number)} ${plural}`;
}

/** The server's sentences are for terminals, too. Here no line ends between a number and its unit. */
export function arrows(sentence: string): string {
  return sentence.replaceAll(" -> ", " → ").replace(/(?<=\d) (?=(?:ns|µs|ms|s|min|h|%)(?!\w))/g, "\u00a0");
}

export function thousands(number: number): string {
  return Math.round(number).toLocaleString("en-US");
}

/** A short form that still distinguishes functions: `Class.method` or `module.function` of `pkg.module:qualname`. */
export function shortLabel(label: string): string {
  const colon = /^[\w.<>-]+:(?=[\w<])/.exec(label)?.[0].length ?? 0;
  if (colon === 0) return label;
  const qualname = label.slice(colon).replaceAll(".<locals>", "");
  const module = label.slice(0, colon - 1);
  return qualname.includes(".") ? qualname : `${module.slice(module.lastIndexOf(".") + 1)}.${qualname}`;
}

const LIBRARY =
  /[\\/](?:lib(?:64)?[\\/]python3[^\\/]*|Python3\d*\\Lib|Lib(?=\\site-p))[\\/]((?:site|dist)-packages[\\/])?(.+)/;

/** `<stdlib>/asyncio/events.py` and `<site-packages>/flask/app.py` for files of those, of whichever Python; else "". */
export function libraryPlace(path: string): string {
  const found = LIBRARY.exec(path);
  return found ? `<${found[1] ? "site-packages" : "stdlib"}>/${found[2]}` : "";
}

/** `chunkstore/index.py:42`, relative to the workspace when it lies in it; see `libraryPlace`. */
export function place(path: string, line: number, workspace: string): string {
  const inside = workspace !== "" && path.startsWith(workspace.endsWith("/") ? workspace : `${workspace}/`);
  const shown = libraryPlace(path) || (inside ? path.slice(workspace.replace(/\/$/, "").length + 1) : path);
  return line > 0 ? `${shown}:${line}` : shown;
}

/** Cuts `text` to what `fits`, in the middle, so that both ends stay readable. */
export function elide(text: string, fits: (text: string) => boolean): string {
  if (fits(text)) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(cut(text, middle))) low = middle;
    else high = middle - 1;
  }
  return cut(text, low);
}

function cut(text: string, keep: number): string {
  const tail = Math.floor(keep * 0.4);
  return `${text.slice(0, keep - tail)}…${tail > 0 ? text.slice(-tail) : ""}`;
}

function digits(value: number): string {
  if (value >= 99.95) return value.toFixed(0);
  return value >= 9.995 ? value.toFixed(1) : value.toFixed(2).replace(/\.?0+$/, "");
}

/** Splits a sentence into parts; every second part is code between backquotes. An unpaired backquote is an ordinary character. */
export function withCode(sentence: string): string[] {
  const pieces = sentence.split("`");
  return pieces.length % 2 === 1 ? pieces : [sentence];
}

export function percent(share: number): string {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "<0.1 %";
  return `${value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(0)} %`;
}
