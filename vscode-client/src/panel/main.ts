/** Where the panel starts: the same bundle in the editor's webview and in a browser. */
import "./styles/main.css";
import { Panel } from "./app";
import { connect } from "./transport";
import "./views/slice";
import "./views/criticalPath";
import "./views/diff";
import "./views/compare";
import "./views/suspects";
import "./views/patterns";

const root = document.getElementById("app");
if (root) void new Panel(root, connect()).start();
