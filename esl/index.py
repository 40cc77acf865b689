"""The functions of a workspace, read from its source. Invariant: nothing of the workspace is ever imported or run.

Modules are named as Python would import them, with the folder that holds the top package on the path. Files are listed at
once and read when they are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clew.esl.functions import Contents, FunctionInfo, read_functions
from clew.records.match import is_project_file

MAX_FILES = 20_000
MAX_FOLDERS = 10_000
"""Beyond this the rest of a workspace is left out, and a note says so. It is a home folder, or the whole disk."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    path: str
    """Absolute."""
    module: str
    aliases: tuple[str, ...]
    """Other names it may be imported by: through folders without `__init__.py`."""
    stamp: tuple[int, int]
    """Modification time in ns and size."""

    @property
    def names(self) -> tuple[str, ...]:
        return (self.module, *self.aliases)


def module_names(path: Path, root: Path) -> tuple[str, tuple[str, ...]]:
    """The module that a file is, and its other possible names below `root`. A file outside of packages is a script or a
    top module: its stem."""
    parts = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    module = ".".join(parts) or path.parent.name
    aliases = []
    while folder not in (root, folder.parent) and folder.is_relative_to(root) and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
        aliases.append(".".join(parts))
    return module, tuple(aliases)


def project_files(root: Path, suffix: str) -> tuple[list[Path], str]:
    """The project's own files below a folder, in a fixed order: no hidden folders, no installed packages. The sentence
    says what was left out of a folder too large to be a project ("" for nothing)."""
    found: list[Path] = []
    for count, (folder, folders, names) in enumerate(os.walk(root)):
        if count == MAX_FOLDERS:
            return found, f"{root}: only the first {MAX_FOLDERS} folders are looked at; name a smaller workspace"
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and is_project_file(os.path.join(folder, name, "_"), str(root))
        )
        found += (Path(folder, name) for name in sorted(names) if name.endswith(suffix))
        if len(found) > MAX_FILES:
            return found[
                :MAX_FILES
            ], f"{root}: only the first {MAX_FILES} files are looked at; name a smaller workspace"
    return found, ""


class SourceIndex:
    """The Python files below `root` that belong to the project (see `records.match.is_project_file`), without hidden
    folders, and their functions. `refresh` notices what has changed on the disk since."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        self.files: tuple[SourceFile, ...] = ()
        self._read: dict[str, tuple[tuple[int, int], Contents]] = {}
        self._silent: dict[str, tuple[int, int]] = {}
        """Files that do not mention clew, as they were then."""
        self._left_out = ""
        self.refresh()

    def refresh(self) -> None:
        paths, self._left_out = project_files(self.root, ".py")
        self.files = tuple(self._described(paths))
        here = {file.path for file in self.files}
        self._read = {path: known for path, known in self._read.items() if path in here}

    def functions(self, file: SourceFile) -> tuple[FunctionInfo, ...]:
        """By line; none when the file is not Python that this interpreter can read."""
        return self._contents(file).functions

    def all_functions(self) -> Iterator[FunctionInfo]:
        for file in self.files:
            yield from self.functions(file)

    def annotated_channels(self) -> frozenset[str]:
        """Channels that the program names itself, by `clew.send("jobs", …)` or `clew.use("jobs", …)`."""
        found: set[str] = set()
        for file in self.files:
            if file.path in self._read or self._mentions_clew(file):
                found |= self._contents(file).channels
        return frozenset(found)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about files that could not be read, as far as they were asked for."""
        notes = [contents.note for _, contents in self._read.values() if contents.note]
        return (*notes, self._left_out) if self._left_out else tuple(notes)

    def _contents(self, file: SourceFile) -> Contents:
        stamp, contents = self._read.get(file.path, (None, Contents()))
        if stamp != file.stamp:
            contents = read_functions(file.path, file.module)
            self._read[file.path] = (file.stamp, contents)
        return contents

    def _described(self, paths: list[Path]) -> Iterator[SourceFile]:
        for path in paths:
            try:
                status = path.stat()
            except OSError:
                continue  # a dangling link, or gone since it was listed
            module, aliases = module_names(path, self.root)
            yield SourceFile(str(path), module, aliases, (status.st_mtime_ns, status.st_size))

    def _mentions_clew(self, file: SourceFile) -> bool:
        if self._silent.get(file.path) == file.stamp:
            return False
        try:
            if b"clew" in Path(file.path).read_bytes():
                return True
        except OSError:
            return False
        self._silent[file.path] = file.stamp
        return False
