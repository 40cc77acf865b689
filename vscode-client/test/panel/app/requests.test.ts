import { describe, expect, it } from "vitest";
import { Requests } from "../../../src/panel/app/requests";
import { Store } from "../../../src/panel/app/store";
import type { Transport } from "../../../src/panel/app/transport";

/** Makes requests to a server that never answers, and lists the aborted ones. */
function unanswered(): { asking: Requests; ended: string[] } {
  const ended: string[] = [];
  const request = (method: string, _params: object, signal?: AbortSignal): Promise<never> =>
    new Promise((_answer, reject) => {
      signal?.addEventListener("abort", () => {
        ended.push(method);
        reject(new Error("stopped"));
      });
    });
  const transport = { request } as unknown as Transport;
  return { asking: new Requests(new Store(100, { view: "", asked: {}, flow: "auto", search: "" }), transport), ended };
}

describe("requests", () => {
  it("begin() aborts requests of the previous question, but not a walk step", async () => {
    const { asking, ended } = unanswered();
    const slice = asking.request("clew/slice", { target: {} }, true);
    void asking.request("clew/walk", { target: {} }).catch(() => undefined);
    asking.begin();
    await expect(slice).rejects.toThrow();
    expect(ended).toEqual(["clew/slice"]);
  });

  it("stop() aborts all open requests, but no later request", async () => {
    const { asking, ended } = unanswered();
    const asked = [asking.request("clew/slice", { target: {} }, true), asking.request("clew/walk", { target: {} })];
    asking.stop();
    await Promise.allSettled(asked);
    void asking.request("clew/walk", { target: {} }).catch(() => undefined);
    expect(ended.sort()).toEqual(["clew/slice", "clew/walk"]);
  });
});
