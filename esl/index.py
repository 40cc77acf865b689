"""The functions of a workspace, read from its source. Invariant: nothing of the workspace is ever imported or run.

Names are what Python would give them: `__module__` with the folder that holds the top package on the path, and
`__qualname__`. Files are listed at once and read when they are asked for.
"""

from __future__ import annotations

import ast
import os
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from clew.records.match import is_project_file, plain_qualname

MAX_FILES = 20_000
"""Beyond this many files the rest of a workspace is left out, and `SourceIndex.notes` says so."""

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    module: str
    qualname: str
    """With `<locals>`, as Python has it; `name` is what patterns match."""
    file: str
    line: int
    """Of `def`; lines count from 1."""
    first_line: int
    """Of the first decorator, which is where Python says that the function begins."""
    end_line: int
    kind: str
    """function, coroutine, generator, async_generator or lambda."""
    parameters: tuple[str, ...]
    types: tuple[str, ...]
    """The parameters' annotations as `ast.unparse` writes them, "" for none."""
    decorators: tuple[str, ...]
    in_class: bool

    @property
    def name(self) -> str:
        return plain_qualname(self.qualname)

    @property
    def label(self) -> str:
        return f"{self.module}:{self.name}"

    @property
    def this(self) -> str:
        """The parameter that `this` means, "" when the function is no method."""
        return self.parameters[0] if self.in_class and self.parameters and "staticmethod" not in self.decorators else ""

    @property
    def is_property(self) -> bool:
        return any(name.rpartition(".")[2] in ("property", "cached_property") for name in self.decorators)


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


def project_files(root: Path, suffix: str) -> Iterator[Path]:
    """The project's own files below a folder, in a fixed order: no hidden folders, no installed packages."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and is_project_file(os.path.join(folder, name, "_"), str(root))
        )
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(suffix))


class SourceIndex:
    """The Python files below `root` that belong to the project (see `records.match.is_project_file`), without hidden
    folders, and their functions. `refresh` notices what has changed on the disk since."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root).resolve()
        self.files: tuple[SourceFile, ...] = ()
        self.notes: list[str] = []
        """Sentences about files that could not be read."""
        self._functions: dict[str, tuple[tuple[int, int], tuple[FunctionInfo, ...]]] = {}
        self._channels: dict[str, tuple[tuple[int, int], frozenset[str]]] = {}
        self.refresh()

    def refresh(self) -> None:
        self.notes = []
        self.files = tuple(self._list())

    def functions(self, file: SourceFile) -> tuple[FunctionInfo, ...]:
        """In the order of their lines; none when the file is not Python that this interpreter can read."""
        known = self._functions.get(file.path)
        if known is not None and known[0] == file.stamp:
            return known[1]
        tree = self._tree(file)
        found = tuple(sorted(_functions(tree, file), key=lambda each: each.line)) if tree is not None else ()
        self._functions[file.path] = (file.stamp, found)
        return found

    def all_functions(self) -> Iterator[FunctionInfo]:
        for file in self.files:
            yield from self.functions(file)

    def annotated_channels(self) -> frozenset[str]:
        """Channels that the program names itself, by `clew.send("jobs", …)` or `clew.use("jobs", …)`."""
        found: set[str] = set()
        for file in self.files:
            known = self._channels.get(file.path)
            if known is None or known[0] != file.stamp:
                tree = self._tree(file) if self._mentions_clew(file) else None
                known = (file.stamp, frozenset(_channels(tree)) if tree is not None else frozenset())
                self._channels[file.path] = known
            found |= known[1]
        return frozenset(found)

    def _list(self) -> Iterator[SourceFile]:
        for count, path in enumerate(project_files(self.root, ".py")):
            if count == MAX_FILES:
                self.notes.append(f"{self.root}: only the first {MAX_FILES} Python files are looked at")
                return
            try:
                status = path.stat()
            except OSError:
                continue  # a dangling link, or gone since it was listed
            module, aliases = module_names(path, self.root)
            yield SourceFile(str(path), module, aliases, (status.st_mtime_ns, status.st_size))

    def _tree(self, file: SourceFile) -> ast.Module | None:
        try:
            source = Path(file.path).read_bytes()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(source, file.path)
        except OSError as error:
            reason = f"cannot be read ({error.strerror})"
        except (SyntaxError, ValueError) as error:
            reason = f"is not Python that {sys.version_info[0]}.{sys.version_info[1]} reads ({error})"
        except (RecursionError, MemoryError):
            reason = "nests too deeply to be read"
        self.notes.append(f"{file.path}: {reason}; its functions are not known")
        return None

    def _mentions_clew(self, file: SourceFile) -> bool:
        try:
            return b"clew" in Path(file.path).read_bytes()
        except OSError:
            return False


@dataclass
class _Place:
    """Where in the nesting of functions and classes a node stands."""

    prefix: str = ""
    """What names defined here begin with."""
    function: _Function | None = None
    """The innermost function, to which a `yield` belongs."""
    is_class: bool = False
    globals: set[str] = field(default_factory=set)


@dataclass
class _Function:
    node: FunctionNode
    qualname: str
    in_class: bool
    has_yield: bool = False


def _functions(tree: ast.Module, file: SourceFile) -> Iterator[FunctionInfo]:
    # With a stack of its own: an expression of a thousand terms is a tree a thousand deep.
    found: list[_Function] = []
    stack: list[tuple[ast.AST, _Place]] = [(tree, _Place())]
    while stack:
        node, place = stack.pop()
        outside, inside, inner = _parts(node, place, found)
        stack += [(child, inner) for child in reversed(inside)]
        stack += [(child, place) for child in reversed(outside)]
    for function in found:
        yield _describe(function, file)


def _parts(node: ast.AST, place: _Place, found: list[_Function]) -> tuple[list[ast.AST], list[ast.AST], _Place]:
    """The children that belong to the place of `node`, those that belong to the place it makes, and that place."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            qualname = name if name in place.globals else place.prefix + name
            function = _Function(node, qualname, place.is_class and name not in place.globals)
            found.append(function)
            body = [node.body] if isinstance(node, ast.Lambda) else list(node.body)
            outside: list[ast.AST] = [node.args]
            if not isinstance(node, ast.Lambda):
                outside += [*node.decorator_list, *([node.returns] if node.returns else [])]
            return outside, list(body), _Place(qualname + ".<locals>.", function)
        case ast.ClassDef():
            qualname = node.name if node.name in place.globals else place.prefix + node.name
            outside = [*node.decorator_list, *node.bases, *node.keywords]
            return outside, list(node.body), _Place(qualname + ".", place.function, is_class=True)
        case ast.GeneratorExp() | ast.ListComp() | ast.SetComp() | ast.DictComp():
            name = _comprehension(node)
            if not name:
                return list(ast.iter_child_nodes(node)), [], place
            outermost = node.generators[0].iter
            inside = [
                child for each in node.generators for child in ast.iter_child_nodes(each) if child is not outermost
            ]
            inside += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.comprehension)]
            return [outermost], inside, _Place(f"{place.prefix}{name}.", place.function)
        case ast.Global():
            place.globals.update(node.names)
        case ast.Yield() | ast.YieldFrom():
            if place.function is not None:
                place.function.has_yield = True
    return list(ast.iter_child_nodes(node)), [], place


def _comprehension(node: ast.AST) -> str:
    """The name of the function that Python makes of a comprehension; from 3.12 on most are part of their function."""
    if isinstance(node, ast.GeneratorExp):
        return "<genexpr>"
    if sys.version_info >= (3, 12):
        return ""
    return {ast.ListComp: "<listcomp>", ast.SetComp: "<setcomp>", ast.DictComp: "<dictcomp>"}[type(node)]


def _describe(function: _Function, file: SourceFile) -> FunctionInfo:
    node = function.node
    arguments = node.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    if isinstance(node, ast.AsyncFunctionDef):
        kind = "async_generator" if function.has_yield else "coroutine"
    elif function.has_yield:
        kind = "generator"
    else:
        kind = "lambda" if isinstance(node, ast.Lambda) else "function"
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return FunctionInfo(
        module=file.module,
        qualname=function.qualname,
        file=file.path,
        line=node.lineno,
        first_line=min([node.lineno, *(each.lineno for each in decorators)]),
        end_line=node.end_lineno or node.lineno,
        kind=kind,
        parameters=tuple(each.arg for each in parameters),
        types=tuple(ast.unparse(each.annotation) if each.annotation is not None else "" for each in parameters),
        decorators=tuple(_dotted(each) for each in decorators),
        in_class=function.in_class,
    )


def _dotted(node: ast.expr) -> str:
    """`a.b` of a decorator `@a.b` or `@a.b(…)`, "" of anything else."""
    if isinstance(node, ast.Call):
        return _dotted(node.func)
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _channels(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and _dotted(node.func).rpartition(".")[2] in ("send", "use")
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.args[0].value
