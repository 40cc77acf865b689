/** The entry point of the panel: the same bundle for the editor's webview and for a browser. */
import "./ui/styles/main.css";
import { Panel } from "./app/app";
import { ViewRegistry } from "./views/registry";
import { layoutAt, setLayoutSource } from "./graph/layout/source";
import { connect } from "./app/transport";

setLayoutSource(layoutAt(new URL("layout.js", import.meta.url).href));
const root = document.getElementById("app");
if (root) void new Panel(root, connect(), new ViewRegistry()).start();
