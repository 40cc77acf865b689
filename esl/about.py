"""What stands at a place of a spec that has been read, and what is to be said of it: patterns with the functions they mean,
names with the places they are given at, words of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from clew.esl import packs
from clew.esl.ast import Act, Entity, EntityEvent, Include, LevelMap, Pattern, Scope, Spec
from clew.esl.completion import signature
from clew.esl.functions import FunctionInfo
from clew.esl.help import help_of
from clew.esl.lower import method_pattern, target_of
from clew.esl.meaning import mean, parameters_of
from clew.esl.names import Occurrence
from clew.esl.place import place_at, surely_before, word_at
from clew.esl.span import Span
from clew.esl.tokens import tokens_of
from clew.esl.words import EVENTS
from clew.records.plan import Rule

_LONGEST = 40
"""What follows the first of several words that are one for the language."""
NAMED = 5
"""Functions, or places, that are named; the rest is counted."""

Role = Literal["rule", "except", "label", "class"]


@dataclass(frozen=True)
class Meant:
    """A pattern as it is meant where it stands: of an entity's line the class and the method, of a class all its methods."""

    pattern: Pattern
    span: Span
    rule: Rule
    role: Role
    title: str
    """The statement's words before it: `send finish`."""
    statement: Span
    node: Act | EntityEvent | None = None
    """With values that name parameters."""


def patterns_of(spec: Spec, root: str = "") -> Iterator[Meant]:
    """Every pattern of a spec as it is meant, in order."""
    yield from _patterns(mean(spec).spec, root)


def _patterns(spec: Spec, root: str) -> Iterator[Meant]:
    for statement in spec.statements:
        span = statement.span
        match statement:
            case Scope():
                excepts = tuple(target_of(pattern) for pattern in statement.excepts)
                for pattern in statement.patterns:
                    rule = Rule(target_of(pattern, root), excepts)
                    yield Meant(pattern, pattern.span, rule, "rule", "scope", span)
                for pattern in statement.excepts:
                    yield Meant(pattern, pattern.span, Rule(target_of(pattern)), "except", "except", span)
            case Act(pattern=pattern):
                title = " ".join((statement.verb.text, *(word.text for word in statement.modifiers)))
                yield Meant(pattern, pattern.span, Rule(target_of(pattern, root)), "rule", title, span, statement)
            case LevelMap():
                for label in statement.labels:
                    title = f"{statement.name.text}: {label.name.text}"
                    yield Meant(label.pattern, label.pattern.span, Rule(target_of(label.pattern)), "label", title, span)
            case Entity():
                yield from _of_entity(statement, root)


def _of_entity(entity: Entity, root: str) -> Iterator[Meant]:
    target = entity.target
    methods = Pattern(target.span, target.module, f"{target.qualname}.**" if target.qualname else None)
    rule = Rule(target_of(methods, root))
    yield Meant(methods, target.span, rule, "class", f"entity {entity.name.text}", entity.span)
    for event in entity.members:
        if isinstance(event, EntityEvent):
            pattern = method_pattern(entity, event)
            rule = Rule(target_of(pattern, root))
            yield Meant(pattern, pattern.span, rule, "rule", f"when {event.moment.text}", event.span, event)


def pattern_at(spec: Spec, offset: int, root: str = "") -> Meant | None:
    # Their meaning may depend on other statements; their places do not.
    found = _patterns(mean(spec).spec.around(offset), root)
    return next((each for each in found if each.span.start <= offset <= each.span.end), None)


def rules_at(spec: Spec, offset: int, root: str = "") -> list[Meant]:
    """The patterns of the statement, or the entity's line, of which a word before all of them stands at an offset."""
    found = [each for each in _patterns(mean(spec).spec.around(offset), root) if each.role in ("rule", "label")]
    found = [each for each in found if each.statement.start <= offset <= each.statement.end]
    return found if all(offset < each.span.start for each in found) else []


def pack_at(spec: Spec, offset: int) -> str:
    """The name of the pack that an `include` has there, "" for none."""
    words = [word for each in spec.around(offset).statements if isinstance(each, Include) for word in each.packs]
    return next((word.text for word in words if word.span.start <= offset <= word.span.end), "")


def about_pack(name: str) -> str:
    """Markdown: what a pack adds, its parameters, and what it costs."""
    cost = packs.costs().get(name)
    rows = [f"pack `{name}`: {packs.about(name)}"]
    rows += [f"- `{each} = {value!r}`, if not given" for each, value in parameters_of(name).items()]
    rows += [f"- {cost['operation']}: {cost['us']:g} µs, and {cost['added']:g} µs with it"] if cost is not None else []
    return "\n".join(rows)


def name_at(names: Iterable[Occurrence], offset: int) -> Occurrence | None:
    return next((each for each in names if each.written and each.span.start <= offset <= each.span.end), None)


def about_functions(meant: Meant, functions: tuple[FunctionInfo, ...], doubts: tuple[str, ...] = ()) -> str:
    """Markdown: how many, and the first few with links. `doubts` say of each why only the program's run tells, "" for none."""
    what = {"class": "methods", "except": "functions left out", "label": "functions with this label"}.get(
        meant.role, "functions"
    )
    if not functions:
        return f"`{meant.pattern.full_text}` matches no function here"
    files = {function.file for function in functions}
    head = f"**{_count(len(functions), what)}**" + (f" in {_count(len(files), 'files')}" if len(files) > 1 else "")
    unsure = sum(map(bool, doubts))
    head += f", {unsure:,} of them only at run time" if unsure else ""
    reasons = dict(zip(functions, doubts, strict=False))
    rows = [
        f"- {link(function)} `{signature(function)}`"
        + (f", at run time: {reason}" if (reason := reasons.get(function)) else "")
        for function in functions[:NAMED]
    ]
    if len(functions) > NAMED:
        rows.append(f"- … and {len(functions) - NAMED:,} more")
    return "\n".join([f"`{meant.title} {meant.pattern.full_text}`: {head}", "", *rows])


def link(function: FunctionInfo) -> str:
    return f"[{function.label}]({Path(function.file).as_uri()}#L{function.line})"


def about_name(name: Occurrence, everywhere: Iterable[tuple[str, Occurrence]]) -> str:
    """Markdown: where else the name stands; `everywhere` are the paths and names of all specs."""
    same = [(path, each) for path, each in everywhere if each.meaning == name.meaning]
    verbs: dict[str, int] = {}
    for _, each in same:
        verbs[each.verb or ("given" if each.given else "used")] = (
            verbs.get(each.verb or ("given" if each.given else "used"), 0) + 1
        )
    counted = ", ".join(f"{count} × `{verb}`" if name.verb else f"{verb} {count} ×" for verb, count in verbs.items())
    whose = Path(name.owner).name if name.kind == "parameter" else name.owner
    owner = f" of `{whose}`" if whose else ""
    rows = [
        f"- [{Path(path).name}:{each.span.line}]({Path(path).absolute().as_uri()}#L{each.span.line})"
        for path, each in same[:NAMED]
    ]
    if len(same) > NAMED:
        rows.append(f"- … and {len(same) - NAMED:,} more")
    return "\n".join([f"{name.kind} `{name.name}`{owner}: {counted}", "", *rows])


def about_word(text: str, offset: int) -> tuple[str, int, int]:
    """The reference's text about a keyword, or a word that the language knows, and where it stands; "" for any other."""
    start, end = word_at(text, offset)
    # A word of the language may be several: `decorated by`.
    begin = surely_before(text, start)
    tokens = tokens_of(text[begin : end + _LONGEST], start - begin, end - begin)
    whole = next((each for each in tokens if each[2] == "keyword" and each[0] <= start - begin < each[1]), None)
    if whole is not None:
        start, end = begin + whole[0], begin + whole[1]
    word = text[start:end].partition(" ")[0]
    if not word:
        return "", start, end
    place = place_at(text, start)
    keywords = [each for each in place.words if each.split(" ")[0] == word]
    statement = "entity" if place.member else place.keyword
    if keywords:
        in_value = bool({"COMPARE", "_UNSAFE"} & place.accepted)
        several = " ".join(text[start:end].split())
        for one in (several, word) if several in keywords else (word,):
            if found := help_of(one, statement or word, in_value=in_value):
                return found, start, end
        return "", start, end
    if "_UNSAFE" in place.accepted and (text[end : end + 1] == "(" or word in ("this", "result", "exception")):
        return help_of(word, statement, in_value=True), start, end
    if place.member and word in EVENTS:
        return help_of(word, statement), start, end
    return "", start, end


def about_parameter(word: str, functions: tuple[FunctionInfo, ...]) -> str:
    """Markdown: which of a rule's functions have it, and what they say of its type."""
    having = [function for function in functions if word in function.parameters]
    if not having:
        return ""
    types = {function.types[function.parameters.index(word)] for function in having} - {""}
    shown = f"`{word}: {next(iter(types))}`" if len(types) == 1 else f"`{word}`"
    if len(functions) == 1:
        return f"{shown}: a parameter of {link(having[0])}"
    return f"{shown}: a parameter of {len(having)} of the {_count(len(functions), 'functions')}"


def _count(number: int, what: str) -> str:
    return (
        f"{number:,} {what}"
        if number != 1
        else f"1 {what.replace('functions', 'function').replace('methods', 'method')}"
    )
