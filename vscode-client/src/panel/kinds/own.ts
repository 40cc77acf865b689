/**
 * A workspace's own views, and its own drawings of entities: modules of `.clew/views`, registered beside the others (docs/views.md).
 *
 * Invariant: a module that cannot be loaded, or is no view, is named in a sentence and changes nothing else.
 */
import type { ViewsResult } from "../../shared/protocol";
import { addOwnDrawing, type OwnDrawing } from "../model/entities/own";
import { LATER as OWN } from "../model/place";
import type { Question } from "../model/question";
import type { Clew } from "../views/clew";
import { type Key, registerView, viewKinds } from "../views/view";

/** What a module exports as its default. */
export interface OwnModule {
  name: string;
  title: string;
  hint?: string;
  keys?: readonly Key[];
  /** What it asks that was asked nothing yet; its question is whatever JSON it likes. */
  start?: object;
  describe?: (question: object) => string;
  make: (clew: Clew) => OwnMade;
}

/** What `make` gives. */
export interface OwnMade {
  open?(question: object): Promise<void> | void;
  draw(): unknown;
  unhandle?(): void;
  found?(): { matches: number; all: number };
  select?(selection: { label: string }): void;
  key?(event: KeyboardEvent): boolean;
}

/** Loads and registers those that there are, from addresses below `base`; gives what the user should know. */
export async function loadAll(base: string, { views, message }: ViewsResult): Promise<string[]> {
  const notes = message ? [message] : [];
  for (const { name, version } of base ? views : []) {
    try {
      await loadOwn(name, `${base}${encodeURIComponent(name)}?v=${version}`);
    } catch (error) {
      notes.push(reason(error));
    }
  }
  return notes;
}

/** Throws an error for the user. */
async function loadOwn(file: string, address: string): Promise<void> {
  let module: unknown;
  try {
    module = await import(/* @vite-ignore */ address);
  } catch (error) {
    throw new Error(`The view ${file} of this workspace could not be loaded: ${reason(error)}`, { cause: error });
  }
  registerOwn(file, module);
}

export function registerOwn(file: string, module: unknown): void {
  const own = isObject(module) ? module.default : undefined;
  const wrong = whatIsWrong(own);
  if (!wrong && isObject(own) && own.of === "entities") {
    const drawing = own as unknown as OwnDrawing;
    if (addOwnDrawing(file, drawing)) return;
    throw new Error(`The drawing ${file} of this workspace is called “${drawing.name}”, as another one already is.`);
  }
  if (wrong) throw new Error(`The view ${file} of this workspace is none: ${wrong}. docs/views.md has an example.`);
  const { name, title, hint = title, keys = [], start = {}, describe, make } = own as OwnModule;
  if (viewKinds().some((kind) => kind.name === OWN + name)) {
    throw new Error(`The view ${file} of this workspace is called “${name}”, as another one already is.`);
  }
  registerView({
    name: OWN + name,
    title,
    hint,
    key: "",
    keys,
    question: anyJson(start),
    levels: "none",
    describe: (question) => {
      try {
        return describe?.(question) ?? hint;
      } catch {
        return hint; // the words of a way back are not worth an error
      }
    },
    askedRun: (question) => ("run" in question && typeof question.run === "string" ? question.run : ""),
    inRun: (question, run) => ({ ...question, run }),
    make: async (context) => {
      const { OwnView } = await import("../views/own");
      return new OwnView(file, make, context);
    },
  });
}

/** A question of which nothing is known but that it is an object of JSON. */
export function anyJson(start: object): Question<object> {
  const bare = JSON.stringify(start);
  return {
    start,
    encode: (question, words) => {
      const text = JSON.stringify(question);
      if (text !== bare) words.set("asked", text);
    },
    decode: (words) => {
      try {
        const read: unknown = JSON.parse(words.get("asked") ?? bare);
        return isObject(read) ? read : start;
      } catch {
        return start;
      }
    },
    valid: (value) => (isObject(value) ? value : start),
  };
}

/** In words, "" for nothing. */
function whatIsWrong(own: unknown): string {
  if (!isObject(own)) return "it has no `export default { name, title, make }`";
  for (const name of ["name", "title"]) {
    if (typeof own[name] !== "string" || own[name] === "") return `its \`${name}\` is no text`;
  }
  if (typeof own.make !== "function") return "its `make` is no function";
  if (own.of !== undefined && own.of !== "entities") return "its `of` is no view that takes drawings: “entities” does";
  if (own.start !== undefined && !isObject(own.start)) return "its `start` is no object";
  if (own.keys !== undefined && !Array.isArray(own.keys)) return "its `keys` are no list";
  return "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
