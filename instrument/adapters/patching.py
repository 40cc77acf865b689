"""Hooks of the adapters in the standard library: installed after import, in place, and indistinguishable from the original.

Invariant: a module that the program never imports is not imported for its hooks. A hook that cannot be placed leaves its
module unchanged.
"""

import functools
import os
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType
from typing import Any

from clew.instrument.probes.bytecode.rewrite import Call, Operand, Probes, Store, rewrite
from clew.instrument.probes.install.hidden_calls import Around, Quiet
from clew.instrument.probes.sites import note, register
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Kind

Patch = Callable[[Any], None]
"""A function that installs an adapter's hooks in a module."""

_pending: dict[str, list[Patch]] = {}
_always: list[tuple[Callable[[str], bool], Patch]] = []
_hooked: set[CodeType] = set()
_placed: "list[_Placed]" = []
"""All functions whose code was changed in place, in the order of the changes."""


class _PatchingFinder:
    """A finder that lets the other finders find an awaited module, and patches the module after it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _pending and not any(matches(name) for matches, _ in _always):
            return None
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: ModuleSpec | None = find(name, path, target)
            if spec is not None:
                _patch_after_loading(spec)
                return spec
        return None


def _patch_after_loading(spec: ModuleSpec) -> None:
    loader = spec.loader

    def exec_module(module: ModuleType) -> None:
        # Delete the attribute before the module runs, so that the program sees an unchanged loader.
        del loader.exec_module  # type: ignore[union-attr]  # set below, on this instance
        loader.exec_module(module)  # type: ignore[union-attr]  # a loader without it has no instance attribute either
        for patch in (
            *_pending.pop(module.__name__, ()),
            *(patch for matches, patch in _always if matches(module.__name__)),
        ):
            _apply(patch, module)

    if loader is not None and hasattr(loader, "__dict__") and not isinstance(loader, type):
        loader.exec_module = exec_module  # type: ignore[method-assign]  # for this one load


def _apply(patch: Patch, module: ModuleType) -> None:
    try:
        patch(module)
    except Exception as error:
        note(f"{module.__name__}: causality is not recorded ({type(error).__name__}: {error})")


def when_imported(name: str, patch: Patch) -> None:
    """Call `patch(module)` now if module `name` is loaded, otherwise after its import. A failure is noted in the trace."""
    module = sys.modules.get(name)
    if module is not None:
        _apply(patch, module)
        return
    _hook_finders()
    _pending.setdefault(name, []).append(patch)


def whenever_imported(matches: Callable[[str], bool], patch: Patch) -> None:
    """Call `patch(module)` after each import of a module for whose name `matches` returns True."""
    _hook_finders()
    _always.append((matches, patch))


def _hook_finders() -> None:
    if not any(isinstance(finder, _PatchingFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _PatchingFinder())


class Tokens(threading.local):
    """The state of the active calls of one hooked function, per thread."""

    def __init__(self) -> None:
        self.stack: list[Any] = []


def hook(
    function: Any,
    enter: Callable[..., Any],
    leave: Callable[[Any, Any], None] | None = None,
    parameters: int = 1,
    changes: str = "",
) -> None:
    """Call `enter` with the first `parameters` arguments at each start of a Python function, and `leave` at each end.

    `leave` gets the result of `enter` and the function's result, or None if it raised. It is not called if `enter`
    returned None. With `changes`, the name of one of these arguments, `enter` returns a pair, and its second item replaces
    that argument. An argument that nested functions use is passed as its cell. The function's code is rewritten in place:
    the function stays the same object, and its tracebacks do not contain clew's frames. Exceptions of the hooks are
    dropped. Hooking a function again has no effect.
    """
    code = function.__code__
    if code in _hooked:
        return
    tokens = Tokens()
    changed = code.co_varnames.index(changes, 0, parameters) if changes else None

    def start(*arguments: Any) -> Any:
        value = None if changed is None else arguments[changed]
        try:
            token = enter(*arguments)
            if changed is not None:
                token, value = token
        except Exception:
            token = None
        if leave is not None:
            tokens.stack.append(token)
        return value

    def finish(result: Any) -> None:
        token = tokens.stack.pop() if tokens.stack else None
        if token is not None and leave is not None:
            leave(token, result)

    def fail(_exception: BaseException) -> None:
        finish(None)

    action = _dropping(enter if changed is None and leave is None else start, -1 if changed is None else changed)
    probes = Probes(0, start=Call(action, tuple(range(parameters)), changed))
    if leave is not None:
        probes = probes._replace(after_exit=Call(_dropping(finish), ()), after_unwind=Call(_dropping(fail), ()))
    _place(function, _calling(probes))
    _hooked.add(function.__code__)


def _dropping(function: Callable[..., object], kept: int = -1) -> Quiet:
    """Call a hook so that its exceptions are dropped; in C, because a frame more would be a good part of its time."""
    return Quiet(function, kept, True)


def hook_end(function: Any, ended: Callable[[Any, BaseException | None], None]) -> None:
    """Call `ended` at each end of a Python function, with its first argument and the exception that it ends by, if any.

    It supports coroutine functions, whose calls overlap, so that `hook` could not match their ends. Otherwise like `hook`.
    """
    if function.__code__ in _hooked:
        return

    def exited(_result: Any, subject: Any) -> None:
        ended(subject, None)

    def unwound(error: BaseException, subject: Any) -> None:
        ended(subject, error)

    probes = Probes(0, after_exit=Call(_dropping(exited), (0,)), after_unwind=Call(_dropping(unwound), (0,)))
    _place(function, _calling(probes))
    _hooked.add(function.__code__)


def hook_nested(function: Any, name: str, enter: Callable[..., Any], parameters: int = 1) -> None:
    """Call `enter` with the first `parameters` arguments at each start of the functions `name` that `function` defines.

    Functions that it defined before are not hooked. Exceptions of `enter` are dropped.
    """
    if function.__code__ in _hooked:
        return

    probes = Probes(0, start=Call(_dropping(enter), tuple(range(parameters))))
    _place(function, lambda code: rewrite(code, lambda found: probes if found.co_name == name else None, _no_record))
    _hooked.add(function.__code__)


def _no_record(_site: int, _kind: int) -> None:
    return None


def hook_return(
    function: Any, returned: Callable[..., None], parameters: int, enter: Callable[..., None] | None = None
) -> None:
    """Call `returned` with the result and the first `parameters` arguments at each return, also of a coroutine function.

    `enter` gets the same arguments at each start. The function must not assign to them. Otherwise like `hook`.
    """
    code = function.__code__
    if code in _hooked:
        return
    # What an inner function uses is in a cell.
    cells = {place for place, name in enumerate(code.co_varnames[:parameters], 1) if name in code.co_cellvars}

    def end(*values: Any) -> None:
        returned(*(value.cell_contents if place in cells else value for place, value in enumerate(values)))

    given = tuple(range(parameters))
    start, at_exit = (
        Call(_dropping(enter), given) if enter else None,
        Call(_dropping(end if cells else returned), given),
    )
    probes = Probes(0, start=start, after_exit=at_exit)
    _place(function, _calling(probes))
    _hooked.add(function.__code__)


def hook_store(function: Any, name: str, stored: Callable[[Any], None]) -> None:
    """Call `stored` with each value that a Python function stores into its local of that name. Otherwise like `hook`."""
    operate(function, stores=calling_stores(name, stored, (name,)))


def calling_stores(
    name: str, stored: Callable[..., None], names: tuple[str, ...]
) -> dict[str, tuple[object, tuple[str, ...]]]:
    """Return `stores` for `operate`: they call `stored` with one or two locals after each store into `name`.

    Each of these locals must be bound whenever the function stores into `name`.
    """

    # A `Quiet` in the class is not bound to the instance, so it gets only the values; its call is invisible.
    method = "__delitem__" if len(names) == 1 else "__setitem__"
    return {name: (type("Stored", (), {method: _dropping(stored)})(), names)}


def _calling(probes: Probes) -> Callable[[CodeType], CodeType]:
    """Return a code rewriter that inserts only the calls of `probes`, without records."""
    return lambda code: rewrite(code, lambda found: probes if found is code else None, _no_record)


def operate(  # the order of the parameters is the order of the places in the function
    function: Any,
    enter: object | None = None,
    leave: object | None = None,
    exit: object | None = None,
    stores: dict[str, tuple[object, tuple[str, ...]]] | None = None,
) -> None:
    """Insert operands into a Python function.

    `enter` acts on the first parameter at each start, `leave` on no value at each end, and `exit` on the first parameter
    at each return. The operands of `stores` act on one or two locals, after each store into a local or attribute of that
    name. Otherwise like `hook`, but without a new frame: operands are written in C, or call by `Quiet`.
    """
    code = function.__code__
    if code in _hooked:
        return
    at = {Kind.ENTER: enter and Operand(enter, 0), Kind.EXIT: exit and Operand(exit, 0)}
    if leave is not None:
        at |= {Kind.EXIT: leave, Kind.UNWIND: leave}
    places = tuple(
        Store(name, operand, tuple(map(code.co_varnames.index, names)))
        for name, (operand, names) in (stores or {}).items()
    )
    probes = Probes(0, stores=places)

    def operated(code: CodeType) -> CodeType:
        return rewrite(code, lambda found: probes if found is code else None, lambda _site, kind: at.get(Kind(kind)))

    _place(function, operated)
    _hooked.add(function.__code__)


def surround(
    owner: Any, name: str, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None
) -> None:
    """Replace `owner.name` by the wrapper of `around`, for hooks that change a result; other hooks use `hook`. Idempotent."""
    original = owner.__dict__[name]
    if type(original) is not Around:
        setattr(owner, name, around(original, before, after))


def around(original: Any, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None) -> Any:
    """Return `original` wrapped in two hooks (see `Around`), with its name, signature and documentation."""
    return functools.update_wrapper(Around(original, before, after), original)


def rename_in(function: FunctionType, old: str, new: str) -> None:
    """Make `function` use the attribute or global `new` instead of `old`, in place, to hook an operation within it."""

    def renamed(code: CodeType) -> CodeType:
        return code.replace(co_names=tuple(new if name == old else name for name in code.co_names))

    _place(function, renamed)


class _Placed(NamedTuple):
    function: Any
    change: Callable[[CodeType], CodeType]
    before: CodeType
    after: CodeType


def _place(function: Any, change: Callable[[CodeType], CodeType]) -> None:
    before = function.__code__
    function.__code__ = after = change(before)
    _placed.append(_Placed(function, change, before, after))


def is_placed(code: CodeType) -> bool:
    """Return whether `code` belongs to a function with a hook."""
    return any(code is placed.after for placed in _placed)


def suspend_hooks() -> None:
    """Remove the hooks from all functions; active calls keep them until they end."""
    for placed in reversed(_placed):
        if placed.function.__code__ is placed.after:
            placed.function.__code__ = placed.before


def resume_hooks() -> None:
    """Install the hooks again, in the current code of the functions."""
    for index, (function, change, before, after) in enumerate(_placed):
        now = function.__code__
        if now is before:
            function.__code__ = after
        elif now is not after:
            function.__code__ = new = change(now)
            _placed[index] = _Placed(function, change, now, new)
            _hooked.add(new)


def inner_code(function: Any, name: str) -> list[object]:
    """Return the code of the nested functions of that name in `function`."""
    return [const for const in function.__code__.co_consts if getattr(const, "co_name", "") == name]


def adapter_site(function: Any) -> int:
    """Return the site of the events that a hook records in `function`, which is written in Python or C."""
    code = getattr(function, "__code__", None)
    module = getattr(function, "__module__", None) or getattr(function, "__objclass__", type).__module__
    file, line = (code.co_filename, code.co_firstlineno) if code else ("", 0)
    return register(module, function.__qualname__, file, line, line, "adapter")


def object_keys() -> Callable[[object], int]:
    """Return a function that computes the key of an object, which must live until the key is used.

    A key is the address (of which the recorder keeps 64 bits) plus a random number for each caller of this function: two
    mechanisms never share a key, and neither do a process and its forked child.
    """
    base = int.from_bytes(os.urandom(8), "little")

    def key_of_object(value: object) -> int:
        return base + id(value)

    def renew() -> None:
        nonlocal base
        base = int.from_bytes(os.urandom(8), "little")

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)
    return key_of_object
