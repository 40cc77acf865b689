/**
 * Declares the question of a view field by field: its form in the address, and the values that outside input may set.
 *
 * Invariant: `decode(encode(q))` is `q`. Words and JSON from outside give the nearest valid question, never an error.
 */
import type { Target } from "../../shared/protocol";

/** One field: its words in the address, and its check. `undefined` means "not given". */
export interface Field<T> {
  put(words: URLSearchParams, value: T): void;
  take(words: URLSearchParams): T | undefined;
  valid(value: unknown): T | undefined;
}

export interface Question<Q extends object> {
  /** What a view asks that was asked nothing yet. */
  readonly start: Q;
  encode(question: Q, words: URLSearchParams): void;
  decode(words: URLSearchParams): Q;
  /** The nearest question to any JSON. */
  valid(value: unknown): Q;
}

export type Fields<Q> = { readonly [K in keyof Q]-?: Field<Exclude<Q[K], undefined>> };

/** Every field of `Q` has to be named, so that none is lost on the way through the address. */
export function question<Q extends object>(start: Q, fields: Fields<Q>): Question<Q> {
  const names = Object.keys(fields) as (keyof Q & string)[];
  const gather = (given: <K extends keyof Q & string>(name: K) => Q[K] | undefined): Q => {
    const found = { ...start };
    for (const name of names) {
      const value = given(name);
      if (value !== undefined) found[name] = value;
    }
    return found;
  };
  return {
    start,
    encode(asked, words) {
      for (const name of names) {
        const value = asked[name];
        if (value !== undefined) fields[name].put(words, value as Exclude<Q[typeof name], undefined>);
      }
    },
    decode: (words) => gather((name) => fields[name].take(words)),
    valid: (value) => gather((name) => (isObject(value) ? fields[name].valid(value[name]) : undefined)),
  };
}

/** A text; empty equals none, as does `unless`, the server's default. */
export function text(name: string, unless = ""): Field<string> {
  return {
    put: (words, value) => {
      if (value !== "" && value !== unless) words.set(name, value);
    },
    take: (words) => words.get(name) ?? undefined,
    valid: (value) => (typeof value === "string" ? value : undefined),
  };
}

/** Several texts, in order; an empty list is one that was chosen where `none` has a word for it. */
export function texts(name: string, none?: { name: string; word: string }): Field<string[]> {
  return {
    put: (words, values) => {
      for (const value of values) if (value !== "") words.append(name, value);
      if (none && values.length === 0) words.set(none.name, none.word);
    },
    take: (words) => {
      const found = words.getAll(name).filter(Boolean);
      const isChosen = none ? words.get(none.name) === none.word : false;
      return found.length > 0 || isChosen ? found : undefined;
    },
    valid: (value) => (Array.isArray(value) && value.every((one) => typeof one === "string") ? value : undefined),
  };
}

/** A whole number from 0 on. */
export function whole(name: string): Field<number> {
  return {
    put: (words, value) => {
      words.set(name, String(value));
    },
    take: (words) => wholeNumber(words.get(name)),
    valid: (value) => (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined),
  };
}

/** One of a few words; `unless` is the default. */
export function choice<T extends string>(name: string, allowed: readonly T[], unless?: T): Field<T> {
  const known = (value: unknown): T | undefined => allowed.find((one) => one === value);
  return {
    put: (words, value) => {
      if (value !== unless) words.set(name, value);
    },
    take: (words) => known(words.get(name)),
    valid: known,
  };
}

/** Yes, by a word; no by its absence. */
export function flag(name: string, word: string): Field<boolean> {
  return {
    put: (words, value) => {
      if (value) words.set(name, word);
    },
    take: (words) => (words.get(name) === word ? true : undefined),
    valid: (value) => (value === true ? true : undefined),
  };
}

/** A parameter of the server that the panel never sets: passed through, not in the address. */
export function passed<T extends object>(): Field<T> {
  return {
    put: () => undefined,
    take: () => undefined,
    valid: (value) => (isObject(value) ? (value as T) : undefined),
  };
}

/** Where a slice or a path starts. */
export const target: Field<Target> = {
  put: (words, { event, text: part, function: name, location, line: logged }) => {
    const put = (word: string, value: string | number | null | undefined): void => {
      if (value !== undefined && value !== null && value !== "") words.set(word, String(value));
    };
    put("event", event);
    put("text", part);
    put("function", name);
    put("file", location?.path);
    put("line", location?.line);
    put("logged", logged);
  },
  take: (words) => {
    const event = wholeNumber(words.get("event"));
    if (event !== undefined) return { event };
    const part = words.get("text");
    if (part) return { text: part };
    const name = words.get("function");
    if (name) return { function: name };
    const logged = words.get("logged");
    if (logged) return { line: logged };
    const path = words.get("file");
    const line = wholeNumber(words.get("line"));
    return path && line !== undefined ? { location: { path, line } } : undefined;
  },
  valid: (value) => {
    if (!isObject(value)) return undefined;
    const { event, text: part, function: name, location, line: logged } = value;
    if (typeof event === "number" && Number.isSafeInteger(event) && event >= 0) return { event };
    if (typeof part === "string" && part) return { text: part };
    if (typeof name === "string" && name) return { function: name };
    if (typeof logged === "string" && logged) return { line: logged };
    if (!isObject(location) || typeof location.path !== "string" || typeof location.line !== "number") return undefined;
    return { location: { path: location.path, line: location.line } };
  },
};

/** What a target says, in words. */
export function describeTarget({ event, text: part, function: name, location, line: logged }: Target): string {
  if (event !== undefined && event !== null) return `event ${event}`;
  if (part) return `“${part}”`;
  if (name) return name;
  if (logged) return `“${logged.trim()}”`;
  if (location) return `${location.path.slice(location.path.lastIndexOf("/") + 1)}:${location.line}`;
  return "the newest error";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function wholeNumber(words: string | null): number | undefined {
  const number = words !== null && /^\d{1,16}$/.test(words) ? Number(words) : undefined;
  return Number.isSafeInteger(number) ? number : undefined;
}
