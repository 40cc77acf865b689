/** All views, in the order of their tabs. The first one is shown where nothing is asked. */
import "./slice";
import "./walk";
import "./path";
import "./aggregate";
import "./diff";
import "./compare";
import "./suspects";
import "./patterns";
import "./wizard";
import "./timeline";
import "./entities";
