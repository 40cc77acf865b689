/** The layout as a separate file: a page imports its functions, a worker answers messages. */
import {
  type ArrangeAnswer,
  type ArrangeRequest,
  LayoutRequests,
  type PinRequest,
} from "../../views/entities/layouts/requests";
import { layered } from "./layered";
import type { Layout, LayoutInput } from "./types";

export { LayoutRequests, layered };

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
  const arranging = new LayoutRequests((answer: ArrangeAnswer) => {
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
