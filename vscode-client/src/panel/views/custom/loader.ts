/**
 * Loads custom views and custom drawings of entities: modules of `.clew/views`, registered after the shipped views (docs/views.md).
 *
 * Invariant: a module that fails to load or is not a view produces one message and changes nothing else.
 */
import type { ViewsResult } from "../../../shared/protocol";
import { addCustomDrawing, type CustomDrawing } from "../entities/drawings/customModules";
import { CUSTOM_PREFIX } from "../../app/place";
import type { Question } from "../../app/question";
import type { CustomModule } from "./module";
import type { ViewRegistry } from "../registry";

/** Loads and registers those that there are, from addresses below `base`; gives what the user should know. */
export async function loadCustomViews(
  registry: ViewRegistry,
  base: string,
  { views, message }: ViewsResult,
): Promise<string[]> {
  const notes = message ? [message] : [];
  for (const { name, version } of base ? views : []) {
    try {
      await load(registry, name, `${base}${encodeURIComponent(name)}?v=${version}`);
    } catch (error) {
      notes.push(reason(error));
    }
  }
  return notes;
}

/** Throws an error for the user. */
async function load(registry: ViewRegistry, file: string, address: string): Promise<void> {
  let module: unknown;
  try {
    module = await import(/* @vite-ignore */ address);
  } catch (error) {
    throw new Error(`Custom view ${file} could not be loaded: ${reason(error)}`, { cause: error });
  }
  register(registry, file, module);
}

export function register(registry: ViewRegistry, file: string, module: unknown): void {
  const own = isObject(module) ? module.default : undefined;
  const wrong = whatIsWrong(own);
  if (!wrong && isObject(own) && own.of === "entities") {
    const drawing = own as unknown as CustomDrawing;
    if (addCustomDrawing(file, drawing)) return;
    throw new Error(`Custom drawing ${file} is invalid: the name “${drawing.name}” is already in use.`);
  }
  if (wrong) throw new Error(`Custom view ${file} is invalid: ${wrong}. See docs/views.md for an example.`);
  const { name, title, hint = title, keys = [], start = {}, describe, make } = own as CustomModule;
  if (registry.find(CUSTOM_PREFIX + name)) {
    throw new Error(`Custom view ${file} is invalid: the name “${name}” is already in use.`);
  }
  registry.add({
    name: CUSTOM_PREFIX + name,
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
      const { CustomView } = await import("./view");
      return new CustomView(file, make, context);
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
  if (!isObject(own)) return "`export default { name, title, make }` is missing";
  for (const name of ["name", "title"]) {
    if (typeof own[name] !== "string" || own[name] === "") return `\`${name}\` must be a non-empty string`;
  }
  if (typeof own.make !== "function") return "`make` must be a function";
  if (own.of !== undefined && own.of !== "entities")
    return "`of` must be “entities”, the only view with custom drawings";
  if (own.start !== undefined && !isObject(own.start)) return "`start` must be an object";
  if (own.keys !== undefined && !Array.isArray(own.keys)) return "`keys` must be a list";
  return "";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
