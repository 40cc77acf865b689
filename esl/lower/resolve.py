"""Resolve a spec: replace each `$name` by the value of its parameter, and give each extended entity its class.

Invariant: a statement that cannot be resolved becomes `Broken`, with a problem that explains it; all others keep their
places.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from clew.esl.packs import registry
from clew.esl.syntax.ast import (
    Broken,
    Const,
    Default,
    Entity,
    Include,
    Node,
    Part,
    Pattern,
    Setting,
    Spec,
    Unit,
    Word,
)
from clew.esl.syntax.parser import parse
from clew.esl.syntax.problem import EslProblem, did_you_mean, error, listing, warning
from clew.esl.syntax.span import Span

Value = str | int | float | bool | None

_PATTERN = re.compile(r"[\w*?<>]+(\.[\w*?<>]+)*(:[\w*?<>]+(\.[\w*?<>]+)*)?")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_IN_PATTERN = re.compile(r"\$([^\W\d]\w*)?")
_NOWHERE = Span(1, 1, 1, 1)


@dataclasses.dataclass(frozen=True)
class Meaning:
    spec: Spec
    problems: tuple[EslProblem, ...]
    values: Mapping[str, Value]
    """Value of each parameter."""


def mean(spec: Spec, given: Mapping[str, Value] | None = None, texts: Mapping[str, str] | None = None) -> Meaning:
    """Resolve a spec. `given` are checked values from an `include`; `texts` are values from a command line."""
    values = _defaults(spec) | dict(given or {})
    problems = list(_taken(values, texts or {}))
    key = tuple((name, type(value), value) for name, value in values.items())
    parts: list[Part] = []
    used: set[str] = set()
    declared: _Declared | None = None
    for part in spec.parts:
        statement = part.unit.statement
        extended = isinstance(statement, Entity) and statement.extended is not None
        if isinstance(statement, Default) or not (extended or part.unit.has_setting):
            parts.append(part)
            continue
        if extended and declared is None:
            declared = _declared(spec, key)
        made = _resolved(part.unit, key, declared or () if extended else ())
        parts.append(part._replace(unit=made.unit))
        problems += [problem.moved(part.lines, part.offset) for problem in made.problems]
        used |= made.used
    problems += _unused(spec, used)
    if all(new.unit is old.unit for new, old in zip(parts, spec.parts, strict=True)):
        return Meaning(spec, tuple(problems), values)
    return Meaning(Spec(spec.span, tuple(parts)), tuple(problems), values)


def parameters_of(pack: str) -> dict[str, Value]:
    """Return the parameters of a pack with their defaults; none for an adapter."""
    text = registry.shipped().get(pack)
    return _defaults(parse(text).tree) if text is not None else {}


def values_given(include: Include, pack: Word) -> dict[str, Value]:
    """Return the values that an `include` gives to one of its packs."""
    given = {each.name.text: each.value for each in include.given if each.pack == pack.text}
    return {name: value.value for name, value in given.items() if isinstance(value, Const)}


def entities_of(include: Include, seen: frozenset[str] = frozenset()) -> Iterator[Entity]:
    """Yield the entities of packs and of the packs that they include, with resolved classes."""
    for word in include.packs:
        text = registry.shipped().get(word.text)
        if text is None or word.text in seen:
            continue
        tree = parse(text).tree
        resolving = _Resolving(_defaults(tree) | values_given(include, word))
        for statement in tree.statements:
            if isinstance(statement, Entity) and statement.extended is None:
                yield dataclasses.replace(statement, target=resolving.pattern(statement.target))
            elif isinstance(statement, Include):
                yield from entities_of(resolving.resolved(statement), seen | {word.text})


def fits(value: Value, default: Value) -> bool:
    """Tell whether a parameter with this default accepts this value. A parameter with the default None accepts any."""
    if default is None or isinstance(default, bool):
        return default is None or isinstance(value, bool)
    if isinstance(default, str):
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind_of(value: Value) -> str:
    return "a string" if isinstance(value, str) else "True or False" if isinstance(value, bool) else "a number"


def _defaults(spec: Spec) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for part in spec.parts:
        statement = part.unit.statement
        if isinstance(statement, Default) and isinstance(statement.value, Const):
            found.setdefault(statement.name.text, statement.value.value)
    return found


def _from_text(text: str, default: Value) -> Value:
    """Parse a value of a command line. Raises `ValueError` when it does not fit."""
    if isinstance(default, str):
        return text
    words: dict[str, Value] = {"true": True, "false": False, "none": None}
    value: Value = words.get(text.lower(), text)
    if isinstance(value, str) and _NUMBER.fullmatch(text):
        value = int(text) if text.lstrip("-").isdigit() else float(text)
    if not fits(value, default):
        raise ValueError(text)
    return value


def _taken(values: dict[str, Value], texts: Mapping[str, str]) -> Iterator[EslProblem]:
    """Set values of a command line; yield problems of invalid ones."""
    for name, text in texts.items():
        if name not in values:
            hint, _ = did_you_mean(name, values)
            known = f"; it has {listing(tuple(values), 'and')}" if values else "; it has no parameters"
            yield error(f"the spec has no parameter `{name}`{hint or known}", _NOWHERE)
            continue
        default = values[name]
        try:
            values[name] = _from_text(text, default)
        except ValueError:
            yield error(f"the parameter `{name}` is {kind_of(default)}, not {text!r}", _NOWHERE)


def _unused(spec: Spec, used: set[str]) -> Iterator[EslProblem]:
    if any(isinstance(part.unit.statement, Broken) for part in spec.parts):
        return  # a statement with a syntax error may use it
    for part in spec.parts:
        statement = part.unit.statement
        if isinstance(statement, Default) and statement.name.text not in used:
            message = f"the parameter `${statement.name.text}` is unused; remove it, or use it"
            yield warning(message, part.here(statement.name.span))


_Key = tuple[tuple[str, type, Value], ...]
"""Values of parameters; 1 and True are different."""
_Declared = tuple[tuple[str, Pattern | None], ...]
"""Entities and their classes, None if the class is unknown."""


def _values_of(key: _Key) -> dict[str, Value]:
    return {name: value for name, _, value in key}


def _declared(spec: Spec, key: _Key) -> _Declared:
    """Return the classes of the entities that can be extended."""
    declared: dict[str, Pattern | None] = {}
    for part in spec.parts:
        statement, resolving = part.unit.statement, _Resolving(_values_of(key))
        if isinstance(statement, Entity) and statement.extended is None:
            target = resolving.pattern(statement.target)
            declared.setdefault(statement.name.text, None if resolving.problems else target)
        elif isinstance(statement, Include):
            for other in entities_of(resolving.resolved(statement)):
                declared.setdefault(other.name.text, other.target)
    return tuple(declared.items())


class _Resolved(NamedTuple):
    unit: Unit
    """The resolved unit, Broken if it cannot be resolved."""
    problems: tuple[EslProblem, ...]
    used: frozenset[str]


@functools.lru_cache(maxsize=8192)
def _resolved(unit: Unit, key: _Key, declared: _Declared) -> _Resolved:
    """Resolve a unit. Cached because an editor checks the whole file at every keystroke."""
    resolving = _Resolving(_values_of(key))
    made: Any = resolving.resolved(unit.statement) if unit.has_setting else unit.statement
    if isinstance(made, Entity) and made.extended is not None:
        target = resolving.class_of(made, dict(declared))
        made = dataclasses.replace(made, target=target) if target is not None else None
    if resolving.problems or made is None:
        made = Broken(unit.statement.span, "")
    new = unit if made is unit.statement else Unit(made, unit.text)
    return _Resolved(new, tuple(resolving.problems), frozenset(resolving.used))


class _Resolving:
    def __init__(self, values: Mapping[str, Value]) -> None:
        self.problems: list[EslProblem] = []
        self.values = values
        self.used: set[str] = set()

    def _error(self, message: str, span: Span, fix: str = "") -> None:
        self.problems.append(error(message, span, fix))

    def class_of(self, entity: Entity, declared: Mapping[str, Pattern | None]) -> Pattern | None:
        """Return the class of an entity, or None if it is unknown."""
        if entity.name.text not in declared:
            hint, fix = did_you_mean(entity.name.text, declared)
            message = f"unknown entity `{entity.name.text}` in `extend`{hint}"
            self._error(message if hint else message + "; declare it with `is module:Class`", entity.name.span, fix)
            return None
        target = declared[entity.name.text]
        return dataclasses.replace(target, span=entity.target.span) if target is not None else None

    # Resolve any node; the same object is returned when nothing is replaced.

    def resolved(self, node: Any, field: str = "") -> Any:
        match node:
            case tuple():
                items = tuple(self.resolved(item, field) for item in node)
                return node if all(new is old for new, old in zip(items, node, strict=True)) else items
            case Setting():
                return Const(node.span, self._value(node.id, node.span))
            case Word():
                return self._word(node, field) if node.setting else node
            case Pattern():
                return self.pattern(node)
            case Node():
                changes = {}
                for each in dataclasses.fields(node):
                    old = getattr(node, each.name)
                    if (new := self.resolved(old, each.name)) is not old:
                        changes[each.name] = new
                return dataclasses.replace(node, **changes) if changes else node
        return node

    def _value(self, name: str, span: Span) -> Value:
        self.used.add(name)
        if name in self.values:
            return self.values[name]
        hint, near = did_you_mean(name, self.values)
        known = f"; it has {listing(tuple(self.values), 'and')}" if self.values else f"; add `parameter {name} = …;`"
        self._error(f"the spec has no parameter `{name}`{hint or known}", span, f"${near}" if near else "")
        return None

    def _word(self, word: Word, field: str) -> Word:
        value = self._value(word.text[1:], word.span)
        needs: Callable[[Value], bool] = _IS_WANTED[field]
        if not self.problems and not needs(value):
            expected_text = {"number": "a number that is not negative", "name": "a text"}.get(
                field, "a level or a number"
            )
            self._error(f"expected {expected_text}, but `{word.text}` is {value!r}", word.span)
        return Word(word.span, str(value))

    def pattern(self, pattern: Pattern) -> Pattern:
        written = (pattern.text, *(name.text for each in pattern.filters for name in each.names))
        if not any("$" in text for text in written):
            return pattern
        module, colon, qualname = self._name(pattern.text, pattern.span).partition(":")
        filters = tuple(
            dataclasses.replace(each, names=tuple(Word(n.span, self._name(n.text, n.span)) for n in each.names))
            for each in pattern.filters
        )
        return Pattern(pattern.span, module, qualname if colon else None, filters)

    def _name(self, written: str, span: Span) -> str:
        """Return a pattern's name with substituted parameters."""
        if "$" not in written:
            return written

        def put(match: re.Match[str]) -> str:
            if not match[1]:
                self._error("`$` is not followed by the name of a parameter; write one", span)
                return ""
            return str(self._value(match[1], span))

        text = _IN_PATTERN.sub(put, written)
        if not self.problems and not _PATTERN.fullmatch(text):
            self._error(f"`{written}` becomes `{text}`, which is not a pattern; check the parameter's value", span)
        return text


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_text(value: Value) -> bool:
    return isinstance(value, str) and bool(value.strip())


_IS_WANTED: dict[str, Callable[[Value], bool]] = {
    "number": _is_number,
    "name": _is_text,
    "levels": lambda value: _is_text(value) or (_is_number(value) and isinstance(value, int)),
}
"""Checks of values by the field of the tree that contains the word."""
