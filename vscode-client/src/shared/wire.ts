/** Messages between the webview and its host in addition to `HostMessage` and `PanelMessage`: requests and their answers. */
import type { Walk } from "./walk";
import type { HostMessage, Method, Methods, PanelMessage } from "./protocol";

export interface Request<M extends Method = Method> {
  id: number;
  method: M;
  params: Methods[M]["params"];
}

export interface Answer {
  id: number;
  result?: unknown;
  error?: { message: string };
}

/** The host's own additions: settings that the panel starts with. */
export interface SettingsMessage {
  type: "settings";
  maxNodes: number;
  /** The address of the workspace's own views, "" where there is no workspace. */
  views: string;
}

/** From the panel: the answer to a request is not wanted any more. */
export interface CancelMessage {
  type: "cancel";
  id: number;
}

/** Both ways: a step was made over there; null: the walk was ended. */
export interface WalkedMessage {
  type: "walked";
  walk: Walk | null;
}

export type ToPanel = HostMessage | SettingsMessage | WalkedMessage | Answer;
export type FromPanel = PanelMessage | CancelMessage | WalkedMessage | Request;

export function isRequest(message: FromPanel): message is Request {
  return "method" in message;
}

export function isAnswer(message: ToPanel): message is Answer {
  return !("type" in message);
}
