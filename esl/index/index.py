"""Index the functions and classes of a workspace from its source. Invariant: no code of the workspace is imported or
executed. Answers describe the files as of the last `refresh`, overlaid with the texts of the editor.

Files are listed at once and parsed on demand; results are cached in `.clew` (`index_file`).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from clew.esl.index.database import FileStamp, IndexFile, Row
from clew.esl.index.declarations import ClassInfo, Contents, FunctionInfo, read_contents
from clew.esl.index.files import SourceFile, module_names, source_files
from clew.esl.index.memo import Answers, classes_of, shape_of
from clew.esl.index.parallel_read import Job, Read, digest_of, read_file, read_files
from clew.esl.index.serialise import contents as contents_of
from clew.records.plan.match import is_project_file, is_wide, matches_module
from clew.records.plan.plan import Target
from clew.source.class_hierarchy import Ancestry, loaded_object
from clew.source.declarations import Names
from clew.source.module_lookup import names_in

CACHED_FROM = 100
"""Minimum number of files for the cache; fewer files are parsed as fast as they are looked up."""
FEW = 20
"""Maximum number of changed files before all cached answers are dropped."""
_T = TypeVar("_T")


class SourceIndex:
    """The project's Python files below `root` (see `records.match.is_project_file`), without hidden folders, and their
    contents. `refresh` detects changes on disk."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        self.files: tuple[SourceFile, ...] = ()
        self._disk: list[SourceFile] = []
        self._read: dict[str, tuple[SourceFile, Contents | bytes]] = {}
        """Contents of files; serialized until first use."""
        self._unpacked_times = 0
        self._overlays: dict[str, tuple[SourceFile, bytes]] = {}
        self._answers = Answers()
        self._silent: dict[str, tuple[int, int]] = {}
        """Files that do not mention clew, with their stamps."""
        self._left_out = ""
        self._edits = 0
        self.awaited = False
        """True if an answer was incomplete because files were unread (see `read_cached`, `jobs`, `take`)."""
        self._all_read: tuple[SourceFile, ...] = ()
        """The value of `files` when all of them were read."""
        self._file = IndexFile(self.root)
        self._cached: dict[str, FileStamp] | None = None
        self.refresh()

    # Contents.

    def refresh(self) -> None:
        self._disk, self._left_out = source_files(self.root, self._disk)
        self._lay()
        here = {file.path for file in self.files}
        self._read = {path: known for path, known in self._read.items() if path in here}

    def overlay(self, path: str | Path, text: str | None) -> None:
        """Set the text of a file from an editor; None restores the file on disk."""
        path = str(path)
        if text is None:
            if self._overlays.pop(path, None) is None:
                return
        elif not path.endswith(".py") or not is_project_file(path, str(self.root)):
            return
        else:
            self._edits += 1
            source = text.encode("utf-8", "surrogatepass")
            known = self._overlays.get(path)
            if known is not None and known[1] == source:
                return
            file = SourceFile(path, *module_names(Path(path), self.root), (self._edits, -1))
            self._overlays[path] = file, source
        self._lay()

    def functions(self, file: SourceFile) -> tuple[FunctionInfo, ...]:
        """Return functions by line; empty when this interpreter cannot parse the file."""
        return self._contents(file).functions

    def classes(self, file: SourceFile) -> tuple[ClassInfo, ...]:
        """Return classes by line."""
        return self._contents(file).classes

    def source(self, file: SourceFile) -> bytes:
        """Return the text of a file; empty if the file was removed."""
        over = self._overlays.get(file.path)
        if over is not None and over[0] == file:
            return over[1]
        try:
            return Path(file.path).read_bytes()
        except OSError:
            return b""

    def all_functions(self) -> Iterator[FunctionInfo]:
        self.read(self.files)
        for file in self.files:
            yield from self.functions(file)

    def file_of(self, module: str) -> SourceFile | None:
        """Return the file of a module, by any of its names."""
        return self._by_path.get(self._by_name.get(module, ""))

    def annotated_channels(self) -> frozenset[str]:
        """Return channels named in the program by `clew.send("jobs", …)` or `clew.use("jobs", …)`."""
        return self.answer("channels", lambda: frozenset().union(*self._channels()))

    def _channels(self) -> list[frozenset[str]]:
        def find(file: SourceFile) -> frozenset[str]:
            return self._contents(file).channels if self._is_read(file) or self._mentions_clew(file) else frozenset()

        return self.answer_by_file("channels in a file", self.files, find)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences about files that could not be parsed, among those requested so far."""
        notes = [known.note for _, known in self._read.values() if isinstance(known, Contents) and known.note]
        return (*notes, self._left_out) if self._left_out else tuple(notes)

    @property
    def unpacked(self) -> int:
        """Return how many times a file was deserialized; a file that is read again counts again, because its objects
        are new."""
        return self._unpacked_times

    def unread(self, files: Collection[SourceFile]) -> list[SourceFile]:
        if files is self._all_read:
            return []
        found = [file for file in files if not self._is_read(file)]
        if not found and files is self.files:
            self._all_read = self.files
        return found

    def read(self, files: Iterable[SourceFile]) -> None:
        """Read all unknown files at once: from the cache, else by several processes."""
        files = self.read_cached(files)
        self.take(files, read_files([job_of(file) for file in files]))

    def read_cached(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Load files from the cache; return the others, whose source must be parsed."""
        missing = {file.path: file for file in files if not self._is_read(file)}
        for path in self._overlays.keys() & missing.keys():
            self._contents(missing.pop(path))
        if not missing:
            return []
        cached = self._cached_files()
        same = [path for path, file in missing.items() if (known := cached.get(path)) and _is_of(known, file)]
        touched: list[tuple[str, FileStamp]] = []
        for path, file in missing.items():
            # Rewritten with the same text, for example by a checkout.
            known = cached.get(path)
            if known and _may_be_of(known, file) and _digest_on_disk(path) == known.digest:
                touched.append((path, known._replace(stamp=file.stamp)))
        for path, data in self._file.contents([*same, *(path for path, _ in touched)]):
            self._read[path] = missing.pop(path), data
        self._note_touched([each for each in touched if each[0] not in missing])
        return list(missing.values())

    def take(self, files: Iterable[SourceFile], read: Iterable[tuple[Job, Read]]) -> None:
        """Store the results of `read_files`."""
        by_path = {file.path: file for file in files}
        rows = []
        for (path, _), (digest, data) in read:
            file = by_path[path]
            if self._is_read(self._by_path.get(path, file)):
                continue  # the file changed meanwhile and was read again
            self._read[path] = file, data
            if digest:
                rows.append(Row(path, FileStamp(file.module, file.stamp, digest), data))
        if rows and len(self._disk) >= CACHED_FROM:
            cached = self._cached_files()
            here = {file.path for file in self._disk}
            gone = [path for path in cached if path not in here]
            self._file.write(rows, gone)
            cached.update((row.path, row.file) for row in rows)
            for path in gone:
                del cached[path]

    # Implementation.

    def _lay(self) -> None:
        """Overlay the files on disk with the editor's texts."""
        over = {path: file for path, (file, _) in self._overlays.items()}
        files = tuple(over.pop(file.path, file) for file in self._disk)
        if over:
            files = tuple(sorted((*files, *over.values()), key=lambda file: file.path))
        if files != self.files:
            before, self.files = self.files, files
            self.__dict__.pop("_by_path", None)  # for the files as they were
            self._forget(before)

    def _forget(self, before: tuple[SourceFile, ...]) -> None:
        """Drop answers that the current files may invalidate."""
        same_names = len(before) == len(self.files) and all(map(_has_the_names, before, self.files))
        changed = [pair for pair in zip(before, self.files, strict=False) if pair[0] != pair[1]]
        if not same_names or len(changed) > FEW:
            for view in ("_by_name", "_by_top", "ancestry"):
                self.__dict__.pop(view, None)
            self._answers.forget()
            return
        differ = [self._differ(*pair) for pair in changed]
        shape, classes = any(shape for shape, _ in differ), any(classes for _, classes in differ)
        if classes:
            self.__dict__.pop("ancestry", None)
        self._answers.forget_about({file.path for _, file in changed}, shape=shape, classes=classes)

    def _differ(self, before: SourceFile, file: SourceFile) -> tuple[bool, bool]:
        """Tell whether a file's declarations changed, and whether its classes changed."""
        if not self._is_read(before):
            return True, True
        old, new = self._unpacked(before), self._contents(file)
        return shape_of(old) != shape_of(new), classes_of(old, file.module) != classes_of(new, file.module)

    @functools.cached_property
    def _by_top(self) -> dict[str, list[str]]:
        """Map the first part of module names to paths."""
        found: dict[str, list[str]] = {}
        for file in self.files:
            for top in {name.partition(".")[0] for name in file.names}:
                found.setdefault(top, []).append(file.path)
        return found

    @functools.cached_property
    def _by_path(self) -> dict[str, SourceFile]:
        return {file.path: file for file in self.files}

    @functools.cached_property
    def _by_name(self) -> dict[str, str]:
        """Map all names of modules to paths."""
        found: dict[str, str] = {}
        for file in self.files:
            for alias in file.aliases:
                found.setdefault(alias, file.path)
        return found | {file.module: file.path for file in reversed(self.files)}

    def paths_named(self, target: Target) -> tuple[str, ...]:
        """Return the files of modules that a target can match."""
        top = target.module.partition(".")[0]

        def find() -> tuple[str, ...]:
            files = self.files if is_wide(top) else [self._by_path[path] for path in self._by_top.get(top, ())]
            return tuple(
                file.path for file in files if any(matches_module(target, name, file.path) for name in file.names)
            )

        return self.answer(("files", target.module, target.root), find, shape=False)

    def files_named(self, target: Target) -> list[SourceFile]:
        return [self._by_path[path] for path in self.paths_named(target)]

    def answer(
        self,
        question: object,
        find: Callable[[], _T],
        files: Collection[str] = (),
        *,
        shape: bool = True,
        classes: bool = False,
        lasting: bool = False,
    ) -> _T:
        """Return the result of `find`, cached until one of its dependencies changes. `files` are the paths whose
        contents it depends on. Without `shape` it does not depend on declarations of other files, only with
        `classes` on all classes and their bases. A `lasting` answer survives a change of the file list."""
        return self._answers.get(question, find, files, shape=shape, classes=classes, lasting=lasting)

    def answer_by_file(
        self, question: object, files: Iterable[SourceFile], find: Callable[[SourceFile], _T], *, classes: bool = False
    ) -> list[_T]:
        """Return the result of `find` for each file."""
        return self._answers.by_file(question, files, find, classes=classes)

    def file_at(self, path: str) -> SourceFile | None:
        return self._by_path.get(path)

    def has_top(self, name: str) -> bool:
        """Tell whether a module's name begins with this part."""
        return name in self._by_top

    @functools.cached_property
    def ancestry(self) -> Ancestry:
        """Return the class hierarchy over any number of files."""
        return Ancestry(self._names_of, self._loaded, self.has_top)

    def _names_of(self, module: str) -> Names | None:
        file = self.file_of(module)
        return self._contents(file).names if file is not None else names_in(module)

    def _loaded(self, name: str) -> object:
        """Return a class of the standard library itself, because it is the same in the traced process."""
        top = name.partition(".")[0]
        return loaded_object(name, sys.modules) if top in sys.stdlib_module_names and not self.has_top(top) else None

    def _is_read(self, file: SourceFile) -> bool:
        known = self._read.get(file.path)
        return known is not None and known[0] == file

    def _contents(self, file: SourceFile) -> Contents:
        if self._is_read(file):
            return self._unpacked(file)
        over = self._overlays.get(file.path)
        if over is not None and over[0] == file:
            contents = read_contents(over[1], file.path, file.module)
            self._read[file.path] = file, contents
            self._unpacked_times += 1
            return contents
        self.read([file])
        return self._unpacked(file)

    def _unpacked(self, file: SourceFile) -> Contents:
        _, known = self._read[file.path]
        if isinstance(known, bytes):
            try:
                known = contents_of(known, file.module, file.path)
            except (TypeError, ValueError, KeyError, AttributeError):  # not compiled by us
                known = contents_of(read_file(file.path, file.module)[1], file.module, file.path)
            self._read[file.path] = file, known
            self._unpacked_times += 1
        return known

    def _cached_files(self) -> dict[str, FileStamp]:
        if self._cached is None:
            self._cached = self._file.stamps() if len(self._disk) >= CACHED_FROM else {}
        return self._cached

    def _note_touched(self, touched: list[tuple[str, FileStamp]]) -> None:
        if touched:
            self._file.touch(touched)
            self._cached_files().update(touched)

    def _mentions_clew(self, file: SourceFile) -> bool:
        if file.path in self._overlays:
            return b"clew" in self._overlays[file.path][1]
        if self._silent.get(file.path) == file.stamp:
            return False
        try:
            if b"clew" in Path(file.path).read_bytes():
                return True
        except OSError:
            return False
        self._silent[file.path] = file.stamp
        return False


def job_of(file: SourceFile) -> Job:
    return file.path, file.module


def _has_the_names(one: SourceFile, another: SourceFile) -> bool:
    return one is another or one[:3] == another[:3]


def _is_of(cached: FileStamp, file: SourceFile) -> bool:
    return cached.module == file.module and cached.stamp == file.stamp


def _may_be_of(cached: FileStamp, file: SourceFile) -> bool:
    """Tell whether only the time differs, so that the contents may be unchanged."""
    return cached.module == file.module and cached.stamp != file.stamp and cached.stamp[1] == file.stamp[1]


def _digest_on_disk(path: str) -> str:
    try:
        return digest_of(Path(path).read_bytes())
    except OSError:
        return ""
