"""A workspace with recorded runs for a real editor: the example, and a shop."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.editor.installed import ROOT
from tests.support.runs.damaged_runs import write_torn_run


class Recorded:
    """The example with three recorded runs, and older ones: of two machines with missing events, and of a shop whose look-ups
    take 3 ms longer after than before. Runs name their source by its path, so every test gets the source at the same place,
    as it was after recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = folder / ".vscode/settings.json"
        self.master = folder.with_name(folder.name + "-master")
        shutil.copytree(ROOT / "examples/chunkstore", folder, ignore=shutil.ignore_patterns("__pycache__", ".clew"))
        write_torn_run(folder)
        # An editor's watcher may miss files written right after their folder was made, so the folder is made early.
        self.settings.parent.mkdir()
        self.configure({})
        shutil.copytree(
            ROOT / "tests/support/programs/shop",
            folder,
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
        for name, slow_ns in (("shop-before", 0), ("shop-after", 3_000_000)):
            self._record(name, "shop.esl", "shop.app", SHOP_SLOW_NS=str(slow_ns))
        for name, story in (("failed-write", "failed-write"), ("before", "slow-job"), ("after", "slow-job")):
            variant = () if name == story else ("--variant", name)
            data = "data/failed" if name == story else f"data/{name}"
            self._record(name, "chunkstore.esl", "chunkstore.scenario", story, *variant, "--data", data)
        shutil.copytree(folder, self.master)
        log = folder / "data/failed/c1.log"
        lines = log.read_text().splitlines()
        self.error = next(line for line in lines if "Write request failed" in line)
        self.log_path = "data/failed/c1.log"
        self.log_line = lines.index(self.error) + 1
        found = re.search(r"server\.py:(\d+)", self.error)
        assert found
        self.logging_line = int(found[1])

    def _record(self, name: str, spec: str, module: str, *arguments: str, **variables: str) -> None:
        command = [sys.executable, "-m", "clew", "run", "--workspace", ".", "--spec", spec, "--name", name]
        # The view "Values" needs writes.
        command += ["--writes"] if spec == "shop.esl" else []
        command += ["--", sys.executable, "-m", module, *arguments]
        environment = os.environ | variables
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    def restore(self) -> None:
        """Undo what a test saved; the runs and the server's caches stay."""
        for file in [*self.master.rglob("*.py"), self.master / "chunkstore.esl"]:
            target = self.folder / file.relative_to(self.master)
            if target.read_bytes() != file.read_bytes():
                shutil.copy2(file, target)
        if self.settings.read_text() != "{}":
            self.configure({})

    def configure(self, settings: dict[str, object]) -> None:
        """Replace the settings of the workspace for the rest of the test."""
        self.settings.write_text(json.dumps(settings))

    def line_of(self, path: str, text: str) -> int:
        """Return the number of the first line of a file that has the text."""
        lines = (self.folder / path).read_text().splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)
