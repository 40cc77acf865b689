/** Where a report starts: the panel on answers that are in the page, which needs no server and loads nothing. */
import { AddressBar } from "./address";
import { Panel } from "./app";
import { registerContents } from "./kinds/contents";
import type { Method, Methods } from "../shared/protocol";
import { setLayoutSource } from "./layout/source";
import { answersOf, type ReportData } from "./model/report";
import type { Trail } from "./model/trail";
import type { Transport } from "./transport";
import { keepViews } from "./views/view";

class ReportTransport implements Transport {
  readonly hasEditor = false;
  readonly views = Promise.resolve("");
  private readonly address = new AddressBar();
  private readonly answer: (method: Method, params: object) => unknown;

  constructor(data: ReportData) {
    this.answer = answersOf(data);
  }

  request<M extends Method>(method: M, params: Methods[M]["params"]): Promise<Methods[M]["result"]> {
    return Promise.resolve().then(() => this.answer(method, params) as Methods[M]["result"]);
  }

  reveal(): void {
    // The panel's own drawer shows the source.
  }

  walked(): boolean {
    return false;
  }

  listen(): void {
    // Nothing changes in a file.
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

async function start(): Promise<void> {
  const data = JSON.parse(document.getElementById("clew-report")?.textContent ?? "") as ReportData;
  setLayoutSource({ text: () => Promise.resolve(data.layout), module: () => import("./layout/worker") });
  registerContents(data);
  await import("./kinds/all");
  keepViews(new Set(["contents", ...data.answers.map((answer) => answer.view)]));
  const root = document.getElementById("app");
  if (root) await new Panel(root, new ReportTransport(data)).start();
}

void start();
