/** Where the panel starts: the same bundle in the editor's webview and in a browser. */
import "./styles/main.css";
import { Panel } from "./app";
import "./kinds/all";
import { layoutAt, setLayoutSource } from "./layout/source";
import { connect } from "./transport";

setLayoutSource(layoutAt(new URL("layout.js", import.meta.url).href));
const root = document.getElementById("app");
if (root) void new Panel(root, connect()).start();
