"""Complete at a place of a spec: keywords that the grammar accepts, packs, functions of the workspace's source, their
parameters, names declared in specs, and snippets of whole statements."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from clew.esl.assist.cursor_context import Place, is_inside_comment, place_at
from clew.esl.assist.keyword_help import help_of
from clew.esl.assist.references import CHANNELS, Occurrence
from clew.esl.assist.snippets import SNIPPETS
from clew.esl.index.attributes import Attribute, ClassName, attributes_of, class_of_type
from clew.esl.index.deadline import Deadline, NotNow
from clew.esl.index.declarations import FunctionInfo
from clew.esl.index.decorators import counted, used_in
from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex
from clew.esl.index.match import functions_in_time
from clew.esl.lower import expressions
from clew.esl.lower.lower import target_of
from clew.esl.lower.resolve import parameters_of
from clew.esl.packs import registry
from clew.esl.syntax.ast import Pattern
from clew.esl.syntax.keywords import EVENTS, LOG_LEVELS, NAMING, RATES, UNITS
from clew.esl.syntax.span import Span
from clew.records.plan.plan import Rule

Kind = Literal[
    "keyword",
    "snippet",
    "pack",
    "module",
    "class",
    "function",
    "method",
    "attribute",
    "decorator",
    "parameter",
    "value",
    "name",
    "event",
    "unit",
]
MOST = 500
"""Maximum number of proposals per request; the client asks again as the user types."""
_NOWHERE = Span(1, 1, 1, 1)
_PATTERN_BEFORE = re.compile(r"[\w.*?<>]*(?::[\w.*?<>]*)?\Z")
_WORD_BEFORE = re.compile(r"(?:[^\W\d]\w*)?\Z")
_SETTING_BEFORE = re.compile(r"\$\w*\Z")
_PARAMETER = re.compile(r"^\s*parameter\s+(\w+)\s*=\s*([^;\n]*)", re.MULTILINE)
_DOTTED_BEFORE = re.compile(r"(?P<path>[\w.]+)\.\w*\Z")


@dataclass(frozen=True)
class Completion:
    """Replaces `[start:offset]` by `text`, where `offset` is that of the request."""

    label: str
    kind: Kind
    start: int
    text: str = ""
    """Snippet text with placeholders; empty means the label itself."""
    detail: str = ""
    help: str = field(default="", compare=False)
    rank: int = 5
    """Smaller ranks sort first."""


@dataclass(frozen=True)
class Completions:
    items: tuple[Completion, ...]
    whole: bool = True
    """False if more typing can bring more proposals."""
    postponed: bool = False
    """True if another request can bring more proposals, because this one had no time to read all files."""


def complete(
    text: str,
    offset: int,
    index: SourceIndex | None,
    names: Iterable[Occurrence] = (),
    time_limit: float = math.inf,
) -> Completions:
    """Complete at a place of a spec. `names` are those of all specs of the workspace. `time_limit` limits the processor
    seconds for reading the workspace's files."""
    if is_inside_comment(text, offset):
        return Completions(())
    completer = _Completer(text, offset, index, tuple(names), Deadline(time_limit))
    found = list(completer.run())
    unique = {(item.label, item.kind): item for item in reversed(found)}
    ordered = sorted(unique.values(), key=lambda item: (item.rank, item.label))
    whole = len(ordered) <= MOST and not completer.postponed
    return Completions(tuple(ordered[:MOST]), whole, completer.postponed)


class _Completer:
    def __init__(
        self, text: str, offset: int, index: SourceIndex | None, names: tuple[Occurrence, ...], deadline: Deadline
    ) -> None:
        self.postponed = False
        self.deadline = deadline
        self.text = text
        self.offset = offset
        self.index = index
        self.names = names
        begin = text.rfind("\n", 0, offset) + 1
        self.line = text[begin:offset]
        self.word = offset - len(_match(_WORD_BEFORE, self.line))

    def run(self) -> Iterator[Completion]:
        if setting := _match(_SETTING_BEFORE, self.line):
            for name, value in _PARAMETER.findall(self.text):
                start = self.offset - len(setting)
                yield Completion(f"${name}", "value", start, detail=value.rstrip(), rank=2)
            return
        dotted = _DOTTED_BEFORE.search(self.line)
        if dotted:
            # Complete an attribute of a value, unless a pattern is allowed here.
            place = place_at(self.text, self.offset - len(dotted[0]))
            if "PATTERN" not in place.accepted and "NAME" in place.accepted and "_UNSAFE" in place.accepted:
                yield from self._attributes(place, dotted["path"])
                return
        if self.text[self.word - 1 : self.word].isdigit():
            yield from self._units(place_at(self.text, self.word))
            return
        pattern = self.offset - len(_match(_PATTERN_BEFORE, self.line))
        if pattern < self.word:
            place = place_at(self.text, pattern)
            if "PATTERN" in place.accepted:
                yield from self._pattern(place, pattern)
            return
        place = place_at(self.text, self.word)
        if not place.tokens:
            yield from self._statements(place)
            return
        yield from self._keywords(place)
        if "PATTERN" in place.accepted:
            yield from self._pattern(place, pattern)
        if "_UNSAFE" in place.accepted:
            yield from self._values(place)
        elif place.accepted & {"NAME", "DOTTED"}:
            yield from self._named(place)

    # Keywords.

    def _statements(self, place: Place) -> Iterator[Completion]:
        for word in place.words:
            snippet = SNIPPETS.get(word, "")
            yield Completion(word, "snippet" if snippet else "keyword", self.word, snippet, help=help_of(word), rank=1)

    def _keywords(self, place: Place) -> Iterator[Completion]:
        statement = "entity" if place.member else place.keyword
        rank = 2 if "_UNSAFE" not in place.accepted else 7
        in_value = bool({"COMPARE", "_UNSAFE"} & place.accepted)
        for word in place.words:
            yield Completion(word, "keyword", self.word, help=help_of(word, statement, in_value=in_value), rank=rank)

    def _named(self, place: Place) -> Iterator[Completion]:
        """Complete a name that is not a value; the preceding word determines its kind."""
        keyword, last = place.keyword, place.last
        if keyword == "include" and (pack := _pack_around(place)):
            for name, value in parameters_of(pack).items():
                yield Completion(
                    name, "parameter", self.word, f"{name} = ${{1:{value!r}}}", detail=f"default {value!r}"
                )
        elif keyword == "include":
            used = {str(token) for token in place.tokens}
            for name in registry.known():
                if name not in used:
                    yield Completion(name, "pack", self.word, detail=registry.about(name))
        elif keyword == "logs" and last == "_LEVEL":
            for name in LOG_LEVELS:
                yield Completion(name, "unit", self.word)
        elif last in ("NUMBER", "SLASH"):
            yield from self._units(place)
        elif place.member and last == "__ANON_0":  # `->`
            for name in EVENTS:
                snippet = {"position": "position(${1:this})", "deletion": "deletion(${1:this})"}.get(
                    name, f"{name}(${{1:this}}, ${{2:other}})"
                )
                yield Completion(name, "event", self.word, snippet, help=help_of(name))
        elif place.member and place.before("LPAR") is not None and place.before("__ANON_0") is None:
            yield from self._parameters(place, given={str(token) for token in place.tokens})
        elif last == "AS":
            yield from self._channels(place)
        elif keyword in ("entity", "level"):
            for each in self.names:
                if each.kind == keyword and each.given:
                    yield Completion(each.name, "name", self.word)
        if keyword == "level" and last in ("LBRACE", "COMMA"):
            for each in self.names:
                if each.kind == "label":
                    yield Completion(_quoted(each.name), "name", self.word, detail=f"label of {each.owner}")

    def _units(self, place: Place) -> Iterator[Completion]:
        """Complete the units of a quota, or the time units after `at most 10/`."""
        units = UNITS if place.keyword == "quota" else RATES if place.last == "SLASH" else ()
        for name in units:
            yield Completion(name, "unit", self.word)

    def _channels(self, place: Place) -> Iterator[Completion]:
        """Complete channels; those with the other end in some spec come first."""
        partners = CHANNELS.get(place.keyword, ())
        for each in self.names:
            if each.kind == "channel" and place.keyword in CHANNELS:
                other = each.verb in partners
                detail = f"of a `{each.verb}`"
                yield Completion(_quoted(each.name), "name", self.word, detail=detail, rank=3 if other else 6)
            elif each.kind == "request" and place.keyword in NAMING:
                yield Completion(_quoted(each.name), "name", self.word, detail="a request")
        pattern = str(place.pattern or "")
        own = pattern.rpartition(":")[2].rpartition(".")[2]
        if own.isidentifier():
            yield Completion(own, "name", self.word, detail="the function's own name", rank=6)

    # Patterns.

    def _pattern(self, place: Place, start: int) -> Iterator[Completion]:
        written = self.text[start : self.offset]
        if self.index is None:
            return
        if place.member:
            yield from self._methods(place, start)
            return
        if _list_before(place) == "DECORATED_BY":
            yield from self._decorators(place, start)
        module, colon, _ = written.partition(":")
        if colon:
            yield from self._inside(place, start, module)
        else:
            yield from self._modules(start, module)

    def _modules(self, start: int, written: str) -> Iterator[Completion]:
        """Complete the parts after the typed text; a name without a dot completes to every module that contains it."""
        assert self.index is not None
        package = written.rpartition(".")[0]
        lead = package + "." if package else ""
        children: dict[str, int] = {}
        for file in self.index.files:
            for name in file.names:
                if name.startswith(lead):
                    child = lead + name[len(lead) :].partition(".")[0]
                    children[child] = children.get(child, 0) + 1
                    if not lead and written and "." in name and _is_near(written, name):
                        yield Completion(name, "module", start, rank=4)
        for child, count in children.items():
            yield Completion(child, "module", start, detail=f"{count} modules" if count > 1 else "", rank=3)
        if package and children:
            yield Completion(f"{package}.*", "module", start, detail="its direct modules", rank=4)
            yield Completion(f"{package}.**", "module", start, detail="all its modules, at any depth", rank=4)

    def _inside(self, place: Place, start: int, module: str) -> Iterator[Completion]:
        """Complete classes, methods and functions of the matching modules."""
        if _wants_classes(place):
            yield from self._classes_in(start, module)
            return
        classes: dict[str, int] = {}
        for function in self._functions_of_modules(module):
            owner = function.name.rpartition(".")[0]
            if function.in_class and owner:
                classes[owner] = classes.get(owner, 0) + 1
            if "<" in function.name:
                continue
            kind: Kind = "method" if function.in_class else "function"
            yield Completion(
                f"{module}:{function.name}", kind, start, detail=signature(function), rank=4 if function.in_class else 3
            )
        for owner, count in classes.items():
            yield Completion(f"{module}:{owner}.*", "class", start, detail=f"all methods: {count}", rank=3)

    def _decorators(self, place: Place, start: int) -> Iterator[Completion]:
        """Complete decorators of the functions that the pattern matches, then all other decorators of the workspace."""
        assert self.index is not None
        here = counted(self._meant(place))
        try:
            used = used_in(self.index, self.deadline)
        except NotNow:
            self.postponed = True
            used = here
        for name, count in used.items():
            number, which = (here[name], " that match") if name in here else (count, "")
            detail = f"of {number:,} functions{which}" if number != 1 else f"of 1 function{which and ' that matches'}"
            yield Completion(name, "decorator", start, detail=detail, rank=1 if which else 2)

    def _classes_in(self, start: int, module: str) -> Iterator[Completion]:
        assert self.index is not None
        for file in self._in_time(self._files_of_modules(module)):
            for each in self.index.classes(file):
                bases = f"({', '.join(filter(None, each.bases))})" if any(each.bases) else ""
                yield Completion(f"{module}:{each.qualname}", "class", start, detail=bases, rank=3)

    def _methods(self, place: Place, start: int) -> Iterator[Completion]:
        """Complete methods of the class of an entity."""
        module, _, owner = self._class_of_entity(place).partition(":")
        for function in self._functions_of_modules(module):
            method = function.name.removeprefix(owner + ".")
            if function.in_class and method != function.name and "." not in method:
                names = ", ".join(name for name in function.parameters if name != function.this)
                snippet = f"{method}(${{1:{names}}})" if names else f"{method}()"
                yield Completion(method, "method", start, snippet, detail=signature(function), rank=3)

    def _functions_of_modules(self, module: str) -> Iterator[FunctionInfo]:
        assert self.index is not None
        for file in self._in_time(self._files_of_modules(module)):
            yield from self.index.functions(file)

    def _files_of_modules(self, module: str) -> list[SourceFile]:
        assert self.index is not None
        return self.index.files_named(target_of(Pattern(_NOWHERE, module or "*", None)))

    def _in_time(self, files: list[SourceFile]) -> Iterator[SourceFile]:
        """Yield as many of the files as the time allows."""
        assert self.index is not None
        here = self.deadline.available(self.index, files)
        self.postponed |= len(here) < len(files)
        for file in here:
            if self.deadline.is_over:
                self.postponed = True
                return
            yield file

    # Values.

    def _values(self, place: Place) -> Iterator[Completion]:
        yield Completion(expressions.THIS, "value", self.word, detail="the object of a method", rank=4)
        if any(str(token) == "finish" for token in place.tokens):
            for name in expressions.AT_FINISH:
                yield Completion(name, "value", self.word, detail="after the call has ended", rank=4)
        for name in expressions.FUNCTIONS:
            yield Completion(name, "value", self.word, f"{name}($1)", detail="of a builtin value", rank=6)
        if place.member:
            known = [str(token) for token in self._given(place)]
            for name in known:
                yield Completion(name, "parameter", self.word, rank=2)
            owner = next((str(token) for token in place.head if token.type == "NAME"), "")
            for each in self.names:
                if each.kind == "watch" and each.given and each.owner == owner:
                    yield Completion(each.name, "name", self.word, detail="watched", rank=3)
        else:
            yield from self._parameters(place)

    def _given(self, place: Place) -> list[str]:
        """Return the parameters in the brackets of an entity's line."""
        arrow = next((n for n, token in enumerate(place.tokens) if token.type == "__ANON_0"), len(place.tokens))
        opening = next((n for n, token in enumerate(place.tokens) if token.type == "LPAR"), arrow)
        inside = place.tokens[opening + 1 : arrow]
        return [
            str(token)
            for before, token in zip(place.tokens[opening:arrow], inside, strict=False)
            if token.type == "NAME" and before.type in ("LPAR", "COMMA")
        ]

    def _parameters(self, place: Place, given: Iterable[str] = ()) -> Iterator[Completion]:
        """Complete parameters of the functions that the statement's pattern matches, with a count for those that only
        some functions have."""
        functions = self._meant(place)
        counts: dict[str, list[str]] = {}
        for function in functions:
            for name, kind in zip(function.parameters, function.types, strict=True):
                if name != function.this:
                    counts.setdefault(name, []).append(kind)
        for name, kinds in counts.items():
            if name in given:
                continue
            shared = "" if len(kinds) == len(functions) else f"of {len(kinds)} of {len(functions)} functions"
            kind = kinds[0] if len(set(kinds)) == 1 else ""
            rank = 2 if not shared else 5
            yield Completion(name, "parameter", self.word, detail=" · ".join(filter(None, (kind, shared))), rank=rank)

    def _meant(self, place: Place) -> tuple[FunctionInfo, ...]:
        pattern = place.pattern
        if pattern is None or self.index is None:
            return ()
        module, colon, qualname = str(pattern).partition(":")
        if place.member:
            module, colon, owner = self._class_of_entity(place).partition(":")
            qualname = f"{owner}.{pattern}"
        rule = Rule(target_of(Pattern(_NOWHERE, module, qualname if colon else None)))
        found, is_all = functions_in_time(rule, self.index, self.deadline)
        self.postponed |= not is_all
        return found

    def _attributes(self, place: Place, path: str) -> Iterator[Completion]:
        """Complete methods that run no user code, and attributes of the object's class; properties need `unsafe`."""
        for name, (fewest, _) in expressions.METHODS.items():
            yield Completion(
                name, "method", self.word, f"{name}($1)" if fewest else f"{name}()", detail="runs no code", rank=6
            )
        if self.index is None:
            return
        first, *rest = path.split(".")
        classes = list(dict.fromkeys(self._classes(place, first)))
        for part in rest:
            found = [attributes_of(self.index, each).get(part) for each in classes]
            typed = [
                (one.type, one.owner.partition(":")[0] or each[0])
                for one, each in zip(found, classes, strict=True)
                if one is not None
            ]
            named = [class_of_type(self.index, kind, module) for kind, module in typed]
            classes = list(dict.fromkeys(each for each in named if each is not None))
        for each in classes:
            for attribute in attributes_of(self.index, each).values():
                yield _attribute(attribute, self.word)

    def _classes(self, place: Place, name: str) -> Iterator[ClassName]:
        """Yield the possible classes of a name at a place: of `this` and of parameters with a type."""
        assert self.index is not None
        if name == expressions.THIS and (place.member or place.keyword == "entity"):
            module, _, owner = self._class_of_entity(place).partition(":")
            yield module, owner
            return
        for function in self._meant(place):
            if function.this and name in (expressions.THIS, function.this):
                yield function.module, function.class_name
            elif name in function.parameters:
                kind = function.types[function.parameters.index(name)]
                found = class_of_type(self.index, kind, function.module)
                if found is not None:
                    yield found

    def _class_of_entity(self, place: Place) -> str:
        """Return the pattern of an entity's class; an extended entity has its class in another statement."""
        tokens = place.head or place.tokens
        target = next((str(token) for token in tokens if token.type == "PATTERN"), "")
        if not target and (name := next((str(token) for token in tokens if token.type == "NAME"), "")):
            declared = re.search(rf"\bentity\s+{name}\s+is\s+([\w.:]+)", self.text)
            target = declared[1] if declared else ""
        return target


def _attribute(attribute: Attribute, start: int) -> Completion:
    described = "a property: needs `unsafe`" if attribute.is_property else attribute.type
    whose = f"of {attribute.owner}" if attribute.owner else ""
    kind: Kind = "method" if attribute.is_property else "attribute"
    rank = 5 if attribute.is_property else 3 if attribute.name.startswith("_") else 2
    return Completion(attribute.name, kind, start, detail=" · ".join(filter(None, (described, whose))), rank=rank)


def _wants_classes(place: Place) -> bool:
    """Tell whether a class is expected: after an entity's `is`, or in a filter by classes."""
    return place.keyword == "entity" or _list_before(place) in ("SUBCLASSES_OF", "IN")


def _list_before(place: Place) -> str:
    """Return the terminal that the list of patterns before the place belongs to."""
    return next((token.type for token in reversed(place.tokens) if token.type not in ("PATTERN", "COMMA")), "")


def _pack_around(place: Place) -> str:
    """Return the pack whose brackets in an `include` contain the place, or ""."""
    opening = next((n for n in range(len(place.tokens) - 1, 0, -1) if place.tokens[n].type in ("LPAR", "RPAR")), 0)
    return str(place.tokens[opening - 1]) if opening and place.tokens[opening].type == "LPAR" else ""


def signature(function: FunctionInfo) -> str:
    """Format parameters as `async (item, user: str)`."""
    parts = [
        f"{name}: {kind}" if kind else name for name, kind in zip(function.parameters, function.types, strict=True)
    ]
    lead = "async " if function.kind in ("coroutine", "async_generator") else ""
    return f"{lead}({', '.join(parts)})"


def _is_near(written: str, name: str) -> bool:
    return written.lower() in name.lower()


def _match(pattern: re.Pattern[str], line: str) -> str:
    found = pattern.search(line)
    return found[0] if found else ""


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name) else f'"{name}"'
