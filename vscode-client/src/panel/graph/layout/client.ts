/**
 * Lays out graphs in a worker made from a blob, or on the main thread if no worker can be started.
 *
 * Invariant: answers arrive in the order of the requests' numbers, and a newer request voids the answer to an older one.
 */
import { layoutSource } from "./source";
import type { LayoutAnswer, LayoutRequest } from "./worker";
import type { Layout, LayoutInput } from "./types";

type LayoutFunction = (input: LayoutInput) => Layout;

export class LayoutClient {
  private worker: Worker | undefined;
  private fallback: LayoutFunction | undefined;
  private ready: Promise<void> | undefined;
  private number = 0;
  private waiting: ((answer: LayoutAnswer) => void) | undefined;

  /** Undefined when a newer question was asked meanwhile. Throws what the layout threw. */
  async layout(input: LayoutInput): Promise<Layout | undefined> {
    this.number += 1;
    const number = this.number;
    await (this.ready ??= this.start());
    if (number !== this.number) return undefined;
    if (this.fallback) return this.fallback(input);
    const answer = await new Promise<LayoutAnswer>((resolve) => {
      this.waiting?.({ number: -1 });
      this.waiting = resolve;
      this.worker?.postMessage({ number, input } satisfies LayoutRequest);
    });
    if (answer.number !== this.number) return undefined;
    if (!answer.layout) throw new Error(`Laying out the graph failed: ${answer.error ?? "no reason given"}`);
    return answer.layout;
  }

  private async start(): Promise<void> {
    try {
      this.worker = await startWorker(await layoutSource().text());
      this.worker.onmessage = (message: MessageEvent<LayoutAnswer>): void => {
        if (message.data.number === this.number) this.waiting?.(message.data);
      };
      this.worker.onerror = (event): void => {
        this.waiting?.({ number: this.number, error: event.message });
      };
    } catch {
      // No worker may be started here: a content policy or an old browser. The same code runs in the page then.
      this.fallback = (await layoutSource().module()).layered;
    }
  }
}

/** Throws where none may be started. */
export async function startWorker(source: string): Promise<Worker> {
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const worker = new Worker(address, { type: "module" });
  await new Promise<void>((resolve, reject) => {
    worker.onerror = (): void => {
      reject(new Error("the worker did not start"));
    };
    // An empty layout is the cheapest sign of life.
    worker.onmessage = (): void => {
      resolve();
    };
    const empty: LayoutInput = { nodes: [], links: [], flow: "down", layerGap: 0, nodeGap: 0 };
    worker.postMessage({ number: 0, input: empty } satisfies LayoutRequest);
  });
  URL.revokeObjectURL(address);
  return worker;
}
