/** The layout as a file of its own: imported it gives `layered`, started as a worker it answers messages. */
import { layered } from "./layered";
import type { Layout, LayoutInput } from "./types";

export { layered };

export interface LayoutRequest {
  number: number;
  input: LayoutInput;
}

export interface LayoutAnswer {
  number: number;
  layout?: Layout;
  error?: string;
}

if (typeof document === "undefined" && typeof self !== "undefined") {
  self.onmessage = (message: MessageEvent<LayoutRequest>): void => {
    const { number, input } = message.data;
    let answer: LayoutAnswer;
    try {
      answer = { number, layout: layered(input) };
    } catch (error) {
      answer = { number, error: String(error) };
    }
    self.postMessage(answer);
  };
}
