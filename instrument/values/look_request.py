"""What a second look is asked for, and how its process tells that it is done."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from clew.instrument.recorder.redaction import Redaction
from clew.instrument.values.followed_files import is_followed_below
from clew.instrument.values.recorder import Limits, Recorder
from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.plan import Redact

LOOK_VARIABLE = "CLEW_SECOND_LOOK"
"""Environment variable with the request, for pytest."""
MARKED = "it has the marker clew_no_second_look"
SWITCHED_OFF = "pytest's configuration has clew_second_look = false"
"""In place of an outcome: why the test must not run again."""
_DONE = "done.json"


class LookRequest(NamedTuple):
    folder: str
    root: str
    """The project: functions below it are followed."""
    test: str = ""
    names: tuple[str, ...] = ()
    """Names of values to hide, and below patterns of texts to hide."""
    patterns: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    """Installed packages that are followed, too."""
    limits: Limits = Limits()
    compared: tuple[str, ...] = ()
    """Tests that run after `test`, the most similar first; only their lines are followed."""
    compared_seconds: float = 2.0
    """No compared test begins later than this after the first one."""

    def dump(self) -> str:
        return json.dumps(self)

    @staticmethod
    def load(text: str) -> LookRequest:
        folder, root, test, names, patterns, packages, limits, compared, seconds = json.loads(text)
        lists = tuple(names), tuple(patterns), tuple(packages)
        return LookRequest(folder, root, test, *lists, Limits(*limits), tuple(compared), seconds)

    def is_followed(self) -> Callable[[str], bool]:
        """Return a test of file names: whether the functions of a file are followed."""
        return is_followed_below(Path(self.root), self.packages)

    def recorder(self) -> Recorder:
        """Return the recorder that the request asks for. Raises `OSError`."""
        redaction = Redaction(Redact(self.names, self.patterns))
        return Recorder(Path(self.folder), self.is_followed(), redaction, self.limits)

    def done(self, outcome: str) -> None:
        """Tell that the trace is complete. Raises `OSError`."""
        (Path(self.folder) / _DONE).write_text(json.dumps({"outcome": outcome}), encoding="utf-8")


def outcome_of(folder: Path) -> str | None:
    """Return how the test or program of a finished second look ended; None if it did not finish."""
    try:
        found = json.loads((folder / _DONE).read_bytes())["outcome"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, str) else None
