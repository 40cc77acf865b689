"""Tell whether a class is a subclass of another, by the source of their modules and by loaded classes. Invariant: no
code of the program runs, and an answer that its run may change carries the reason for doubt."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.match import pattern
from clew.source.declarations import UNKNOWN, Base, Names

NamesOf = Callable[[str], Names | None]
"""Returns the declarations of a module by name; None for an unknown module."""
Loaded = Callable[[str], object]
"""Returns the object of a dotted name in this process; None if it is not loaded."""

_Place = tuple[str, str]
"""Module and qualified name of a class."""
_MAX_DEPTH = 60
_TYPING = ("typing", "typing_extensions")
_NO_CLASSES = frozenset(f"{module}.{name}" for module in _TYPING for name in ("NamedTuple", "TypedDict"))
"""Bases that are not classes."""
_NAMED_TUPLES = frozenset(f"{module}.NamedTuple" for module in _TYPING)
_mro_of: Callable[[type], tuple[type, ...]] = vars(type)["__mro__"].__get__
_qualname_of: Callable[[type], str] = vars(type)["__qualname__"].__get__


class Answer(NamedTuple):
    holds: bool
    doubt: str = ""
    """Reason why the program's run may contradict, or ""."""


NO, YES = Answer(False), Answer(True)


class Ancestry:
    """The known class hierarchy at one moment."""

    def __init__(
        self, names_of: NamesOf, loaded: Loaded | None = None, is_own: Callable[[str], bool] = lambda _: False
    ) -> None:
        """`is_own` identifies packages of the project, which installed packages do not import."""
        self._names_of = names_of
        self._loaded = loaded or builtin
        self._is_own = is_own
        self._known: dict[tuple[str, str, tuple[str, ...]], Answer] = {}
        self._wanted: dict[tuple[str, ...], tuple[tuple[Any, Any], ...]] = {}

    def descends(self, module: str, qualname: str, classes: tuple[str, ...], itself: bool = False) -> Answer:
        """Tell whether the class is a subclass of one of `classes`, globs of `module:Class`; with `itself`, also
        whether it is one of them."""
        if itself and self._is_wanted((module, qualname), classes):
            return YES
        return self._descends(module, qualname, classes, 0)

    def finds(self, name: str) -> bool:
        """Tell whether such a class (`module:Class`) exists, as far as the source shows."""
        return any(also is not None for _, also in self._meant((name,)))

    def parents(self, module: str, qualname: str) -> list[_Place]:
        """Return modules and qualified names of its base classes, in order, as far as their source is known."""
        names = self._names_of(module)
        if names is None or qualname not in names.classes:
            return []
        found = [
            self._resolve(name, frozenset())[0] for base in names.classes[qualname][-1] for name in base.names if name
        ]
        return [each for each in found if each is not None]

    def bases(self, module: str, qualname: str) -> list[_Place | type] | None:
        """Return the base classes: standard library classes themselves, others as module and qualified name. Return
        None where the source does not determine one of them, or the class has several definitions."""
        names = self._names_of(module)
        defined = names.classes.get(qualname, ()) if names is not None else ()
        if len(defined) != 1:
            return None
        found: list[_Place | type] = []
        for base in defined[0]:
            if len(base.names) != 1 or base.names[0] == UNKNOWN:
                return None
            name = base.names[0]
            each = tuple if name in _NAMED_TUPLES else self._loaded(name)
            if not isinstance(each, type):
                place, _ = self._resolve(name, frozenset())
                if place is None:
                    return None
                found.append(place)
            else:
                found.append(each)
        return found

    def class_named(self, name: str, module: str) -> tuple[str, str] | None:
        """Return module and qualified name of the class that a name means in a module, as far as its source is known."""
        names = self._names_of(module)
        if names is None:
            return None
        head, dot, rest = name.partition(".")
        bound = names.bound.get(head, (f"{module}.{head}",))
        return self._resolve(f"{bound[0]}{dot}{rest}", frozenset())[0] if len(bound) == 1 and bound[0] else None

    def _descends(self, module: str, qualname: str, classes: tuple[str, ...], depth: int) -> Answer:
        key = (module, qualname, classes)
        known = self._known.get(key)
        if known is None:
            self._known[key] = NO  # a cycle adds nothing
            self._known[key] = known = self._asked(module, qualname, classes, depth)
        return known

    def _asked(self, module: str, qualname: str, classes: tuple[str, ...], depth: int) -> Answer:
        real = self._loaded(f"{module}.{qualname}")
        if isinstance(real, type):
            return Answer(any(self._is_real(each, classes) for each in _mro_of(real)[1:]))
        names = self._names_of(module)
        if names is None or qualname not in names.classes:
            return Answer(False, f"no source found for the class `{module}:{qualname}`")
        answers = [self._of_bases(bases, classes, depth) for bases in names.classes[qualname]]
        if len({each.holds for each in answers}) > 1:
            return Answer(True, f"`{module}:{qualname}` has several definitions")
        return answers[-1]

    def _of_bases(self, bases: tuple[Base, ...], classes: tuple[str, ...], depth: int) -> Answer:
        doubt = ""
        for base in bases:
            answer = self._of_base(base, classes, depth)
            if answer.holds and not answer.doubt:
                return YES
            doubt = doubt or answer.doubt
        return Answer(bool(doubt), doubt)

    def _of_base(self, base: Base, classes: tuple[str, ...], depth: int) -> Answer:
        """Check one base class; in doubt the answer is yes."""
        answers = [self._of_name(name, base, classes, depth) for name in base.names]
        doubt = next((each.doubt for each in answers if each.doubt), "")
        if not doubt and len({each.holds for each in answers}) > 1:
            doubt = f"the base class `{base.text}` has several definitions"
        return Answer(True, doubt) if doubt else answers[-1]

    def _of_name(self, name: str, base: Base, classes: tuple[str, ...], depth: int) -> Answer:
        what = f"the base class `{base.text}`" if base.text else "a base class"
        if name == UNKNOWN or depth > _MAX_DEPTH:
            return Answer(True, f"{what} is computed at run time")
        if any(name == glob.replace(":", ".") for glob in classes):
            return YES
        if name in _NO_CLASSES:
            return NO
        real = self._loaded(name)
        if isinstance(real, type):
            return Answer(any(self._is_real(each, classes) for each in _mro_of(real)))
        found, why = self._resolve(name, frozenset())
        if found is None:
            foreign = not self._is_own(name.partition(".")[0])
            if foreign and all(self._is_own(glob.partition(":")[0].partition(".")[0]) for glob in classes):
                return NO
            return Answer(True, f"{what} {why}")
        if self._is_wanted(found, classes):
            return YES
        return self._descends(*found, classes, depth + 1)

    # Names.

    def _resolve(self, name: str, seen: frozenset[str]) -> tuple[_Place | None, str]:
        """Return the class that a dotted name means, through modules that re-export it; or None and the reason."""
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module = ".".join(parts[:cut])
            names = self._names_of(module)
            if names is None:
                continue
            qualname = ".".join(parts[cut:])
            if qualname in names.classes and names.bound.get(parts[cut], (f"{module}.{parts[cut]}",)) == (
                f"{module}.{parts[cut]}",
            ):
                return (module, qualname), ""
            if name in seen:
                return None, "refers to itself"
            return self._handed_on(module, names, parts[cut:], seen | {name})
        return None, f"belongs to `{parts[0]}`, whose source was not found"

    def _handed_on(
        self, module: str, names: Names, parts: list[str], seen: frozenset[str]
    ) -> tuple[_Place | None, str]:
        head = parts[0]
        meanings = [each for each in names.bound.get(head, ()) if each != f"{module}.{head}"]
        if len(meanings) == 1 and UNKNOWN not in meanings and len(names.bound[head]) == 1:
            return self._resolve(".".join([meanings[0], *parts[1:]]), seen)
        if meanings:
            return None, f"is bound at run time in `{module}`"
        for star in names.stars:
            found, _ = self._resolve(".".join([star, *parts]), seen)
            if found is not None:
                return found, ""
        why = f", which creates names at run time (`{names.dynamic}`)" if names.dynamic else ""
        return None, f"is not in the source of `{module}`{why}"

    def _is_wanted(self, place: _Place, classes: tuple[str, ...]) -> bool:
        return any(_matches(glob, place) or place == also for glob, also in self._meant(classes))

    def _is_real(self, owner: type, classes: tuple[str, ...]) -> bool:
        module = vars(owner).get("__module__")
        place = (module if type(module) is str else "builtins", _qualname_of(owner).replace(".<locals>", ""))
        return self._is_wanted(place, classes) or any(also is owner for _, also in self._meant(classes))

    def _meant(self, classes: tuple[str, ...]) -> tuple[tuple[str, Any], ...]:
        """Return each glob, with the class itself or its location if a name without wildcards is re-exported."""
        known = self._wanted.get(classes)
        if known is None:
            found: list[tuple[str, Any]] = []
            for glob in classes:
                found.append((glob, None))
                if "*" not in glob and "?" not in glob:
                    name = glob.replace(":", ".")
                    real = self._loaded(name)
                    found.append((glob, real if isinstance(real, type) else None))
                    found.append((glob, self._resolve(name, frozenset())[0]))
            known = self._wanted[classes] = tuple(found)
        return known


def _matches(glob: str, place: _Place) -> bool:
    module, _, qualname = glob.partition(":")
    return bool(pattern(qualname).match(place[1])) and bool(pattern(module).match(place[0]))


def builtin(name: str) -> object:
    module, _, qualname = name.partition(".")
    return vars(builtins).get(qualname) if module == "builtins" else None


def loaded_object(name: str, modules: dict[str, Any]) -> object:
    """Return the object of a dotted name in imported modules. Reads only namespaces: no code of the program runs."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        module = modules.get(".".join(parts[:cut]))
        if module is None:
            continue
        found: Any = module
        for part in parts[cut:]:
            namespace = _namespace(found)
            if part not in namespace:
                return None
            found = namespace[part]
        return found
    return None


def _namespace(value: Any) -> Any:
    try:
        return (
            vars(type)["__dict__"].__get__(value)
            if isinstance(value, type)
            else object.__getattribute__(value, "__dict__")
        )
    except Exception:  # an object that a program puts into sys.modules need not be a module
        return {}
