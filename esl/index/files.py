"""List the project's own files in a workspace and their modules.

Modules have the names under which Python imports them when the folder of the top-level package is on the path.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from clew.records.plan.match import is_project_file

MAX_FILES = 20_000
MAX_FOLDERS = 10_000
"""Maximum number of folders. A larger workspace is a home folder or a whole disk; the rest is omitted with a note."""


class SourceFile(NamedTuple):
    path: str
    """Absolute path."""
    module: str
    aliases: tuple[str, ...]
    """Other importable names, through folders without `__init__.py`."""
    stamp: tuple[int, int]
    """Modification time in ns and size; for a text in an editor, its number and -1."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.module, *self.aliases)


def module_names(path: Path, root: Path) -> tuple[str, tuple[str, ...]]:
    """Return the module of a file, and its other possible names below `root`. A file outside of packages is a script or
    a top-level module, named by its stem."""
    return _Namer(str(root)).names(str(path.parent), path.name)


class _Namer:
    """Names modules, and caches the result of each folder."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._below = root.rstrip(os.sep) + os.sep
        self._folders: dict[str, tuple[str, tuple[str, ...]]] = {}

    def names(self, folder: str, file: str) -> tuple[str, tuple[str, ...]]:
        before, others = self._of_folder(folder)
        if file == "__init__.py":
            return before[:-1] or os.path.basename(folder), tuple(other[:-1] for other in others)
        stem = os.path.splitext(file)[0]
        return before + stem, tuple(other + stem for other in others)

    def _of_folder(self, folder: str) -> tuple[str, tuple[str, ...]]:
        """Return the prefixes of module names in a folder, each with a trailing dot: the first one, and the others."""
        known = self._folders.get(folder)
        if known is None:
            parent, name = os.path.split(folder)
            if name.isidentifier() and os.path.isfile(os.path.join(folder, "__init__.py")):
                before, others = self._of_folder(parent)
                known = f"{before}{name}.", tuple(f"{other}{name}." for other in others)
            else:
                known = "", tuple(self._climbed(folder))
            self._folders[folder] = known
        return known

    def _climbed(self, folder: str) -> Iterator[str]:
        """Yield prefixes from a folder that is not a package up to the root."""
        name, above = "", folder
        while above.startswith(self._below):
            above, part = os.path.split(above)
            if not part.isidentifier():
                return
            name = f"{part}.{name}"
            yield name


def project_files(root: Path, suffix: str) -> tuple[list[Path], str]:
    """Return the project's own files below a folder in a fixed order, without hidden folders and installed packages.
    The sentence describes what was omitted from a folder too large for a project, or is ""."""
    entries, left_out = _listed(root, suffix)
    return [Path(entry.path) for entry in entries], left_out


def source_files(root: Path, known: Sequence[SourceFile] = ()) -> tuple[list[SourceFile], str]:
    """Return the current Python files. Files of `known` with the same path keep their names."""
    entries, left_out = _listed(root, ".py")
    there: list[tuple[os.DirEntry[str], tuple[int, int]]] = []
    for entry in entries:
        try:
            status = entry.stat()
        except OSError:
            continue  # a dangling link, or removed since it was listed
        there.append((entry, (status.st_mtime_ns, status.st_size)))
    if len(there) == len(known) and all(entry.path == file.path for (entry, _), file in zip(there, known, strict=True)):
        pairs = zip(there, known, strict=True)
        return [file if file.stamp == stamp else SourceFile(*file[:3], stamp) for (_, stamp), file in pairs], left_out
    namer = _Namer(str(root))
    found = []
    for entry, stamp in there:
        module, aliases = namer.names(entry.path[: -len(entry.name) - 1], entry.name)
        found.append(SourceFile(entry.path, module, aliases, stamp))
    return found, left_out


def _listed(root: Path, suffix: str) -> tuple[list[os.DirEntry[str]], str]:
    found: list[os.DirEntry[str]] = []
    folders = [str(root)]
    count = 0
    while folders:
        if count == MAX_FOLDERS:
            return found, f"{root}: only the first {MAX_FOLDERS} folders are read; choose a smaller workspace"
        count += 1
        inside, files = _entries(folders.pop(), suffix)
        folders += [
            entry.path for entry in reversed(inside) if is_project_file(os.path.join(entry.path, "_"), str(root))
        ]
        found += files
        if len(found) > MAX_FILES:
            del found[MAX_FILES:]
            return found, f"{root}: only the first {MAX_FILES} files are read; choose a smaller workspace"
    return found, ""


def _entries(folder: str, suffix: str) -> tuple[list[os.DirEntry[str]], list[os.DirEntry[str]]]:
    """Return the visible folders in a folder and the files with that suffix, both sorted by name."""
    try:
        with os.scandir(folder) as entries:
            there = sorted(entries, key=attrgetter("name"))
    except OSError:
        return [], []  # removed, or not readable
    folders = [entry for entry in there if not entry.name.startswith(".") and _is_folder(entry)]
    return folders, [entry for entry in there if entry.name.endswith(suffix) and not _is_folder(entry, links=True)]


def _is_folder(entry: os.DirEntry[str], links: bool = False) -> bool:
    try:
        return entry.is_dir(follow_symlinks=links)
    except OSError:
        return False
