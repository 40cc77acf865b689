/** The layout as a file of its own: imported it gives what the page calls, started as a worker it answers messages. */
import { type ArrangeAnswer, type ArrangeRequest, Arranging, type PinRequest } from "./entities/arranging";
import { layered } from "./layered";
import type { Layout, LayoutInput } from "./types";

export { Arranging, layered };

export interface LayoutRequest {
  number: number;
  input: LayoutInput;
}

export interface LayoutAnswer {
  number: number;
  layout?: Layout;
  error?: string;
}

export type WorkerRequest = LayoutRequest | { arrange: ArrangeRequest } | { pin: PinRequest };

if (typeof document === "undefined" && typeof self !== "undefined") {
  const arranging = new Arranging((answer: ArrangeAnswer) => {
    self.postMessage(answer);
  });
  self.onmessage = ({ data }: MessageEvent<WorkerRequest>): void => {
    if ("arrange" in data) arranging.begin(data.arrange);
    else if ("pin" in data) arranging.pin(data.pin);
    else self.postMessage(laidOut(data));
  };
}

function laidOut({ number, input }: LayoutRequest): LayoutAnswer {
  try {
    return { number, layout: layered(input) };
  } catch (error) {
    return { number, error: String(error) };
  }
}
