"""Parse the arguments of `clew run` without click, whose import would double the start-up delay of a recorded program.

Invariant: `read` and click give the same result for a command line (`clew.cli.commands.record.run` defines the
command). `read` leaves unusual or invalid arguments and requests for help to click.
"""

import os
from pathlib import Path

from clew.records.fast_namedtuple import NamedTuple
from clew.records.run.directory import the_workspace

_FLAGS = {
    "--off": "off", "--quiet": "quiet", "-q": "quiet", "--json": "as_json", "--no-output": "no_output", "--writes": "writes",
}  # fmt: skip
_VALUES = {f"--{name}": name for name in ("name", "budget", "quota", "sample", "workspace")}


class Options(NamedTuple):
    """The options of `clew run`, as given."""

    command: tuple[str, ...]
    workspace: Path
    """The folder that contains .clew."""
    spec: Path | None = None
    name: str | None = None
    budget: str | None = None
    quota: str | None = None
    keep: str | None = None
    sample: str | None = None
    off: bool = False
    quiet: bool = False
    as_json: bool = False
    settings: tuple[str, ...] = ()
    """Each is `NAME=VALUE`."""
    no_output: bool = False
    writes: bool = False


def read(arguments: list[str]) -> Options | None:
    """Return the options of a plain `clew run`, or None for any other command line."""
    if arguments[:1] != ["run"]:
        return None
    flags: dict[str, bool] = {}
    values: dict[str, str] = {}
    words = iter(arguments[1:])
    command: list[str] = []
    for word in words:
        name, given, value = word.partition("=")
        if word in _FLAGS:
            flags[_FLAGS[word]] = True
        elif name in _VALUES:
            following = value if given else next(words, None)
            if following is None:
                return None
            values[_VALUES[name]] = following
        elif word == "--":
            command = [*words]
        elif word.startswith("-"):
            return None
        else:
            command = [word, *words]
    folder = values.pop("workspace", None)
    if not command or (folder is not None and not (os.path.isdir(folder) and os.access(folder, os.R_OK))):
        return None
    return Options(tuple(command), the_workspace(None if folder is None else Path(folder)), **flags, **values)  # type: ignore[arg-type]  # names of fields of their types
