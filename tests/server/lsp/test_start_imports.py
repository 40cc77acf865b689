"""A starting server imports neither the graph nor the heavy libraries, so that an editor need not wait."""

import subprocess
import sys

from clew.graph.ops.causes.navigation import WAYS
from clew.server.session.walk import STEPS

HEAVY = {
    "numpy",
    "scipy",
    "pyarrow",
    "duckdb",
    "networkx",
    "lark",
    "rich",
    "clew.graph.model.graph",
    "clew.esl.syntax.parser",
}


def test_server_start_loads_no_heavy_library():
    code = "import sys, clew.server.lsp.server as s; s.make_server(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_walk_commands_equal_the_ways_of_the_graph():
    assert STEPS == (*WAYS, "back", "forward")
