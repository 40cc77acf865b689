"""The user's editor settings under `clew`, as typed values.

Invariant: whatever an editor sends, each setting has a value of its type; an invalid value is reported and its default
is used.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

SECTION = "clew"


class Program(NamedTuple):
    """An entry of `clew.record.programs`."""

    name: str
    command: tuple[str, ...]
    """The words of the command; a text is split as by a shell."""
    cwd: str = ""
    """Relative to the workspace's folder."""
    environment: tuple[str, ...] = ()
    """Entries of the form `NAME=VALUE`."""
    spec: str = ""


class Parts(tuple[str, ...]):
    """A selection from `PARTS`, in order."""

    __slots__ = ()


PARTS = ("change", "calls", "p50", "p95", "self", "path", "whatIf", "errors")
ALL_PARTS = Parts(PARTS)


@dataclass(frozen=True)
class Settings:
    code_lens: bool = True
    """`clew.codeLens.enabled`: calls and times above each recorded function."""
    lens_parts: Parts = ALL_PARTS
    """`clew.codeLens.parts`: the parts that lenses show, in this order."""
    what_if_percent: float = 10.0
    """`clew.whatIf.percent`: the assumed speed-up of functions in what-ifs; 0 for none."""
    inlay_hints: bool = True
    """`clew.inlayHints.enabled`: time spent and waited in the lines of functions."""
    baseline: str = ""
    """`clew.baseline`: the baseline run unless another one was chosen; "" for none."""
    compare_code_lens: bool = True
    """`clew.compare.codeLens`: changes since the baseline, above the functions that are responsible."""
    compare_diagnostics: bool = True
    """`clew.compare.diagnostics`: the same as diagnostics."""
    failed_tests: bool = True
    """`clew.tests.failures`: failed tests of the selected run as diagnostics, in hovers and as code actions."""
    log_code_lens: bool = True
    """`clew.logs.codeLens`: "why" above the errors and warnings of logs."""
    log_links: bool = True
    """`clew.logs.links`: links to locations in source and to events' ids in logs and terminals."""
    walk_links: bool = True
    """`clew.walk.enabled`: links that start a walk, in hovers and above lines of logs."""
    watch_code_lens: bool = True
    """`clew.watch.codeLens`: running call counts above functions while their program is recorded."""
    watch_relay: bool = True
    """`clew.watch.relay`: start a relay for viewed programs, so that events are shown immediately."""
    record_code_lens: bool = True
    """`clew.record.codeLens`: "record" above tests and a file's `if __name__ == "__main__":`."""
    esl_code_lens: bool = True
    """`clew.esl.codeLens`: matches and statistics of rules, above them."""
    esl_inlay_hints: bool = True
    """`clew.esl.inlayHints`: the number of functions that each pattern of a list matches."""
    record_spec: str = ""
    """`clew.record.spec`: the spec for programs that name none; "" for the only one at the workspace's top."""
    programs: tuple[Program, ...] = ()
    """`clew.record.programs`: programs that can be recorded by name."""

    def shown(self) -> tuple[object, ...]:
        """The settings that lenses and hints depend on, except those of changes since the baseline."""
        lenses = (
            self.code_lens,
            self.lens_parts,
            self.watch_code_lens,
            self.record_code_lens,
            self.esl_code_lens,
            self.log_code_lens,
            self.walk_links,
        )
        return *lenses, self.what_if_percent, self.inlay_hints, self.esl_inlay_hints


_PATHS = {
    "code_lens": ("codeLens", "enabled"),
    "lens_parts": ("codeLens", "parts"),
    "what_if_percent": ("whatIf", "percent"),
    "inlay_hints": ("inlayHints", "enabled"),
    "baseline": ("baseline",),
    "compare_code_lens": ("compare", "codeLens"),
    "compare_diagnostics": ("compare", "diagnostics"),
    "failed_tests": ("tests", "failures"),
    "log_code_lens": ("logs", "codeLens"),
    "log_links": ("logs", "links"),
    "walk_links": ("walk", "enabled"),
    "watch_code_lens": ("watch", "codeLens"),
    "watch_relay": ("watch", "relay"),
    "record_code_lens": ("record", "codeLens"),
    "esl_code_lens": ("esl", "codeLens"),
    "esl_inlay_hints": ("esl", "inlayHints"),
    "record_spec": ("record", "spec"),
    "programs": ("record", "programs"),
}


def read(data: object) -> tuple[Settings, list[str]]:
    """Return the settings of an editor's JSON, and a sentence for each value of a wrong type."""
    values: dict[str, object] = {}
    problems = []
    for field in fields(Settings):
        value = _at(data, _PATHS[field.name])
        if value is None:
            continue
        needed, read_as = _KINDS[type(field.default)]
        try:
            values[field.name] = read_as(value)
        except ValueError as error:
            name = ".".join((SECTION, *_PATHS[field.name]))
            found = str(error) or repr(value)
            problems.append(f"the setting {name} is {found}, expected {needed}; its default is used")
    return Settings(**values), problems  # type: ignore[arg-type]  # each was checked against its field


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value.strip()


def _parts(value: object) -> Parts:
    if not isinstance(value, list):
        raise ValueError
    unknown = [part for part in value if part not in PARTS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} as one of its entries")
    return Parts(dict.fromkeys(value))


def _percent(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError
    return float(value)


def _programs(value: object) -> tuple[Program, ...]:
    if not isinstance(value, list):
        raise ValueError
    return tuple(_program(item) for item in value)


def _program(item: object) -> Program:
    if not isinstance(item, Mapping):
        raise ValueError(f"{item!r} as one of its entries")
    command = item.get("command")
    words = _words(command)
    name, cwd, spec = (item.get(key, "") for key in ("name", "cwd", "spec"))
    environment = item.get("env", {})
    if not words:
        raise ValueError(f"{command!r} as a command")
    if not all(isinstance(text, str) for text in (name, cwd, spec)):
        raise ValueError(f"{dict(item)!r} as one of its entries")
    if not (isinstance(environment, Mapping) and all(isinstance(text, str) for text in environment.values())):
        raise ValueError(f"{environment!r} as an environment")
    pairs = tuple(f"{variable}={text}" for variable, text in environment.items())
    return Program(name or shlex.join(words), words, cwd, pairs, spec)


def _words(command: object) -> tuple[str, ...]:
    """Return the words of a command; empty for anything else."""
    if isinstance(command, str):
        try:
            return tuple(shlex.split(command))
        except ValueError:
            return ()  # unbalanced quotes
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return tuple(command)
    return ()


_KINDS: dict[type, tuple[str, Callable[[Any], object]]] = {
    bool: ("true or false", _truth),
    str: ("a text", _text),
    float: ("a number from 0 to 100", _percent),
    Parts: (f"a list of some of {', '.join(PARTS)}", _parts),
    tuple: ('a list of {"name": …, "command": …}', _programs),
}
"""By the type of a setting's default: the description of valid values, and a function that reads a value or raises
ValueError."""


def _at(data: object, path: tuple[str, ...]) -> object:
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data
