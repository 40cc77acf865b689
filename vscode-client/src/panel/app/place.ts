/**
 * The place of the panel: the current view, the last question of each view, and display options, as a text for the address bar or the
 * editor's memory.
 *
 * Invariant: `decode(encode(place))` shows the same view with the same question. Any other text decodes to the nearest valid place. Only
 * a view knows the fields of its question.
 */
import type { Flow } from "../graph/layout/types";
import type { Question } from "./question";

/** What a place needs to know of a view. */
export interface Asked {
  readonly name: string;
  readonly question: Question<object>;
}

export interface Place {
  /** The name of a view. */
  view: string;
  /** What was asked last, by view. */
  asked: Readonly<Record<string, object>>;
  flow: Flow | "auto";
  search: string;
}

export const DEFAULT_LEVEL = "function";
/** How the names of views begin that may not be known yet. */
export const CUSTOM_PREFIX = "own:";
export const DEFAULT_MAX_NODES = 300;

/** With the first view, and no question but the ones that views start with. */
export function startingPlace(views: readonly Asked[]): Place {
  return { view: views[0]?.name ?? "", asked: {}, flow: "auto", search: "" };
}

/** What a view is asked at a place. */
export function askedOf(place: Place, view: Asked): object {
  return place.asked[view.name] ?? view.question.start;
}

export function encode(place: Place, views: readonly Asked[]): string {
  const words = new URLSearchParams();
  const view = views.find((one) => one.name === place.view);
  if (place.view) words.set("view", place.view);
  view?.question.encode(askedOf(place, view), words);
  if (place.flow !== "auto") words.set("flow", place.flow);
  if (place.search) words.set("search", place.search);
  return words.toString();
}

/** The text does not contain questions of other views: they come from `before`. */
export function decode(text: string, views: readonly Asked[], before?: Place): Place {
  const words = new URLSearchParams(text);
  const place = before ?? startingPlace(views);
  const name = words.get("view") ?? "";
  const view = views.find((one) => one.name === name) ?? (name.startsWith(CUSTOM_PREFIX) ? undefined : views[0]);
  const flow = words.get("flow");
  return {
    view: view?.name ?? name,
    asked: view ? { ...place.asked, [view.name]: view.question.decode(words) } : place.asked,
    flow: flow === "down" || flow === "right" ? flow : "auto",
    search: words.get("search") ?? "",
  };
}

/** Do two places ask the same question? Then going from one to the other is no step that could be undone. */
export function sameQuestion(a: Place, b: Place, views: readonly Asked[]): boolean {
  const bare = (place: Place): string => encode({ ...place, flow: "auto", search: "" }, views);
  return bare(a) === bare(b);
}
