/** The entry point of a report: the panel with answers stored in the page. A report needs no server and loads nothing. */
import { AddressBar } from "../app/address";
import { Panel } from "../app/app";
import { contentsOf } from "../views/contents/manifest";
import type { Method, Methods } from "../../shared/protocol";
import { setLayoutSource } from "../graph/layout/source";
import { answersOf, type ReportData } from "./answers";
import type { Trail } from "../app/trail";
import type { Transport } from "../app/transport";
import { ViewRegistry, VIEWS } from "../views/registry";

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
  setLayoutSource({ text: () => Promise.resolve(data.layout), module: () => import("../graph/layout/worker") });
  const answered = new Set(data.answers.map((answer) => answer.view));
  const views = new ViewRegistry([contentsOf(data), ...VIEWS.filter(({ name }) => answered.has(name))]);
  const root = document.getElementById("app");
  if (root) await new Panel(root, new ReportTransport(data), views).start();
}

void start();
