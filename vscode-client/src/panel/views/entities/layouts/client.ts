/**
 * Requests layouts of entities from a worker, or computes them in the page if no worker can be started.
 *
 * Invariant: only answers to the latest request are reported.
 */
import { startWorker } from "../../../graph/layout/client";
import { layoutSource } from "../../../graph/layout/source";
import type { WorkerRequest } from "../../../graph/layout/worker";
import type { ArrangeAnswer, ArrangeRequest, LayoutRequests } from "./requests";
import type { Spot } from "./types";

export type Arranged = (answer: ArrangeAnswer) => void;

export class LayoutClient {
  private number = 0;
  private told: Arranged = () => undefined;
  private ready: Promise<void> | undefined;
  private worker: Worker | undefined;
  private inPage: LayoutRequests | undefined;

  async arrange(request: Omit<ArrangeRequest, "number">, told: Arranged): Promise<void> {
    this.number += 1;
    const { number } = this;
    this.told = told;
    await (this.ready ??= this.start());
    if (number === this.number) this.send({ arrange: { ...request, number } });
  }

  pin(id: number, spot: Spot | undefined): void {
    this.send({ pin: { pin: id, spot } });
  }

  /** What is under way is of no interest any more. */
  forget(): void {
    this.number += 1;
    this.told = () => undefined;
  }

  close(): void {
    this.forget();
    this.worker?.terminate();
    this.worker = undefined;
    this.ready = undefined;
  }

  private send(request: Exclude<WorkerRequest, { input: unknown }>): void {
    if (this.worker) this.worker.postMessage(request);
    else if ("arrange" in request) this.inPage?.begin(request.arrange);
    else this.inPage?.pin(request.pin);
  }

  private receive(answer: ArrangeAnswer): void {
    if (answer.number === this.number) this.told(answer);
  }

  private async start(): Promise<void> {
    try {
      this.worker = await startWorker(await layoutSource().text());
      this.worker.onmessage = ({ data }: MessageEvent<ArrangeAnswer>): void => {
        this.receive(data);
      };
    } catch {
      // No worker may be started here: a content policy or an old browser. The same code runs in the page then.
      const { LayoutRequests: InPage } = await layoutSource().module();
      this.inPage = new InPage((answer) => {
        this.receive(answer);
      });
    }
  }
}
