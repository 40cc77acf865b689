/**
 * Connects the panel to the server, through the editor's webview or over HTTP from a browser.
 *
 * Invariant: a request either answers or throws an error with a message for the user.
 */
import type { HostMessage, Location, Method, Methods, RunGrew } from "../../shared/protocol";
import { AddressBar } from "./address";
import { savedTrail, type Trail } from "./trail";
import type { Walk } from "../../shared/walk";
import { type FromPanel, isAnswer, type SettingsMessage, type ToPanel, type WalkedMessage } from "../../shared/wire";

export interface Transport {
  /** Does an editor next to the panel show source? */
  readonly hasEditor: boolean;
  /** Where the workspace's own views are, "" where there can be none. */
  readonly views: Promise<string>;
  /** Throws `Stopped` when `signal` aborts; the server is told to cancel. */
  request<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    signal?: AbortSignal,
  ): Promise<Methods[M]["result"]>;
  /** Shows a recorded place of a run. */
  reveal(location: Location, run: string): void;
  /** Tells the host of a step, which shows the place; false where there is no host. */
  walked(walk: Walk | null): boolean;
  /** Starts listening; nothing is delivered before. */
  listen(listener: (message: HostMessage | SettingsMessage | WalkedMessage) => void): void;
  /** The way to what is shown, to be shown again after a reload. */
  save(trail: Trail, isNewPlace: boolean): void;
  saved(): Trail | undefined;
  /** Goes back or forward in the browser's history, which calls `onNavigate`; false if there is none. */
  navigate(by: number): boolean;
  /** Calls `listener` when the browser's Back or Forward goes to another place. */
  onNavigate(listener: (trail: Trail) => void): void;
}

/** What was asked is not wanted any more. */
export class Stopped extends Error {
  constructor() {
    super("Stopped before the server answered.");
  }
}

interface EditorApi {
  postMessage(message: FromPanel): void;
  getState(): unknown;
  setState(state: unknown): void;
}

declare global {
  /** Given by the editor to a webview's page, and by nothing else. */
  function acquireVsCodeApi(): EditorApi;
}

export function connect(): Transport {
  return "acquireVsCodeApi" in globalThis ? new EditorTransport(acquireVsCodeApi()) : new BrowserTransport();
}

class EditorTransport implements Transport {
  readonly hasEditor = true;
  private knowViews: (address: string) => void = () => undefined;
  readonly views = new Promise<string>((resolve) => {
    this.knowViews = resolve;
  });
  private number = 0;
  private readonly waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();

  constructor(private readonly api: EditorApi) {}

  request<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    signal?: AbortSignal,
  ): Promise<Methods[M]["result"]> {
    this.number += 1;
    const id = this.number;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(new Stopped());
        return;
      }
      this.waiting.set(id, { resolve, reject });
      this.api.postMessage({ id, method, params });
      signal?.addEventListener("abort", () => {
        if (!this.waiting.delete(id)) return;
        this.api.postMessage({ type: "cancel", id });
        reject(new Stopped());
      });
    });
  }

  reveal(location: Location, run: string): void {
    this.api.postMessage({ type: "reveal", location, run });
  }

  walked(walk: Walk | null): boolean {
    this.api.postMessage({ type: "walked", walk });
    return true;
  }

  listen(listener: (message: HostMessage | SettingsMessage | WalkedMessage) => void): void {
    window.addEventListener("message", (event: MessageEvent<ToPanel>) => {
      const message = event.data;
      if (!isAnswer(message)) {
        if (message.type === "settings") this.knowViews(message.views);
        listener(message);
        return;
      }
      const caller = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) caller?.reject(new Error(message.error.message));
      else caller?.resolve(message.result as never);
    });
    this.api.postMessage({ type: "ready" });
  }

  save(trail: Trail): void {
    this.api.setState(trail);
  }

  saved(): Trail | undefined {
    return savedTrail(this.api.getState());
  }

  navigate(): boolean {
    return false;
  }

  onNavigate(): void {
    // An editor's panel has no address.
  }
}

class BrowserTransport implements Transport {
  readonly hasEditor = false;
  readonly views = Promise.resolve(new URL("views/", window.location.href).href);
  private readonly address = new AddressBar();
  private readonly token = new URLSearchParams(window.location.search).get("token") ?? "";

  async request<M extends Method>(
    method: M,
    params: Methods[M]["params"],
    signal?: AbortSignal,
  ): Promise<Methods[M]["result"]> {
    let answer: Response;
    try {
      answer = await fetch("rpc", {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.token}` },
        body: JSON.stringify({ method, params }),
        ...(signal ? { signal } : {}),
      });
    } catch {
      if (signal?.aborted) throw new Stopped();
      throw new Error(
        "The server does not answer. Is `clew view` still running in its terminal? Start it, then reload.",
      );
    }
    const body = (await answer.json().catch(() => {
      if (signal?.aborted) throw new Stopped();
      return {};
    })) as {
      result?: Methods[M]["result"];
      error?: { message: string };
    };
    if (body.error) throw new Error(body.error.message);
    if (body.result === undefined) throw new Error(`The server returned status ${answer.status} without a message.`);
    return body.result;
  }

  reveal(): void {
    // The panel's own drawer shows the source.
  }

  walked(): boolean {
    return false;
  }

  listen(listener: (message: HostMessage | SettingsMessage | WalkedMessage) => void): void {
    const events = new EventSource(`events?token=${encodeURIComponent(this.token)}`);
    events.addEventListener("runsChanged", () => {
      listener({ type: "runsChanged" });
    });
    events.addEventListener("runGrew", (event: MessageEvent<string>) => {
      listener({ type: "runGrew", growth: JSON.parse(event.data) as RunGrew });
    });
  }

  save(trail: Trail, isNewPlace: boolean): void {
    this.address.save(trail, isNewPlace);
  }

  saved(): Trail {
    return this.address.saved();
  }

  navigate(by: number): boolean {
    return this.address.navigate(by);
  }

  onNavigate(listener: (trail: Trail) => void): void {
    this.address.onNavigate(listener);
  }
}
