"""Find the functions that were edited since a test passed: by the source texts that were saved with the two sessions.

A text that a session did not save comes from its commit, if it had no uncommitted changes. Invariant: a function counts as
edited only if both of its texts are known; a change of comments, of layout or of line numbers is no edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from clew.compare.failures.earlier_sessions import Session, last_passed
from clew.records.run import git_revision, source_snapshots
from clew.records.run.directory import RunInfo

MOST_FILES = 200
_MODULE = "<module>"


class Changes(NamedTuple):
    """What was edited since a session."""

    since: Session
    functions: dict[tuple[str, str], str]
    """By file and qualified name, the phrase about the edit."""
    outside: tuple[str, ...]
    """The files that were also edited outside of functions."""


def changes(folder: Path, info: RunInfo, node: str, files: Iterable[str]) -> Changes | None:
    """Return the edits to some files since a test passed; None if no earlier session is known in which it did."""
    since = last_passed(folder, info, node)
    if since is None:
        return None
    now, then = source_snapshots.index(folder), source_snapshots.index(since.folder)
    functions: dict[tuple[str, str], str] = {}
    outside = []
    for file in list(dict.fromkeys(files))[:MOST_FILES]:
        if file in now and file in then and now[file].digest == then[file].digest:
            continue
        new, old = _parts(folder, info, now, file), _parts(since.folder, since.info, then, file)
        if new is None or old is None:
            continue
        for name, text in new.items():
            if old.get(name) == text:
                continue
            if name == _MODULE:
                outside.append(file)
            else:
                what = "changed" if name in old else "added"
                functions[file, name] = f"{what} since the test passed ({since.title})"
    return Changes(since, functions, tuple(outside))


def _parts(
    folder: Path, info: RunInfo, index: Mapping[str, source_snapshots.Source], file: str
) -> dict[str, str] | None:
    text = _text(folder, info, index, file)
    return None if text is None else parts(text)


def _text(folder: Path, info: RunInfo, index: Mapping[str, source_snapshots.Source], file: str) -> str | None:
    source = index.get(file)
    if source is not None and source.certain:
        return source_snapshots.text(folder, source)
    if info.commit and not info.dirty:
        data = git_revision.committed(Path(info.workspace), info.commit, file)
        return None if data is None else data.decode("utf-8", "replace")
    return None


def parts(text: str) -> dict[str, str] | None:
    """Return the code of each function of a module by its qualified name, and of the rest as "<module>", in a form that
    only depends on the code; None for a text that does not parse. Functions inside a function are parts of their own."""
    try:
        tree = ast.parse(text)
        found: dict[str, str] = {}
        found[_MODULE] = _dumped(tree, "", found)
        return found
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _dumped(node: ast.AST, prefix: str, found: dict[str, str]) -> str:
    """Return the code of a node, with a name in the place of each function inside of it; add those to `found`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        name = prefix + node.name
        if isinstance(node, ast.ClassDef):
            return f"class {name} {_fields(node, name + '.', found)}"
        text = _fields(node, f"{name}.<locals>.", found)
        # Of two definitions of one name (a property's), both belong to it.
        found[name] = f"{found[name]}\n{text}" if name in found else text
        return f"def {name}"
    return f"{type(node).__name__} {_fields(node, prefix, found)}"


def _fields(node: ast.AST, prefix: str, found: dict[str, str]) -> str:
    shown = []
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            shown.append(f"{name}={_dumped(value, prefix, found)}")
        elif isinstance(value, list):
            inner = (_dumped(each, prefix, found) if isinstance(each, ast.AST) else repr(each) for each in value)
            shown.append(f"{name}=[{', '.join(inner)}]")
        else:
            shown.append(f"{name}={value!r}")
    return f"({', '.join(shown)})"
