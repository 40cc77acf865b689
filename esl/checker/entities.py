"""Check the entities of a spec: classes, clauses, events, and relations between entities."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from clew.esl.checker.clauses import check_filters, check_pattern, check_rate
from clew.esl.lower import expressions
from clew.esl.lower.resolve import entities_of
from clew.esl.syntax.ast import (
    Broken,
    Clause,
    Entity,
    EntityEvent,
    Expression,
    Include,
    Name,
    Part,
    Spec,
    Unit,
    Watch,
)
from clew.esl.syntax.keywords import EVENTS
from clew.esl.syntax.problem import EslProblem, did_you_mean, error, listing


def blocks_of(spec: Spec) -> dict[str, tuple[Unit, ...]]:
    """Return all blocks of each entity by its name."""
    blocks: dict[str, list[Unit]] = {}
    for part in spec.parts:
        if isinstance(part.unit.statement, Entity):
            blocks.setdefault(part.unit.statement.name.text, []).append(part.unit)
    return {name: tuple(found) for name, found in blocks.items()}


def entities_in(units: Iterable[Unit]) -> list[Entity]:
    return [unit.statement for unit in units if isinstance(unit.statement, Entity)]


def watched_in(blocks: Iterable[Entity]) -> dict[str, Watch]:
    """Return the watched values of an entity from all its blocks."""
    return {member.name.text: member for each in blocks for member in each.members if isinstance(member, Watch)}


def check_entities(spec: Spec) -> Iterator[EslProblem]:
    """Yield problems of entities and their relations."""
    blocks = blocks_of(spec)
    if not blocks:
        return
    included = [part.unit.statement for part in spec.parts if isinstance(part.unit.statement, Include)]
    known = blocks.keys() | {each.name.text for pack in included for each in entities_of(pack)}
    unreadable = any(isinstance(part.unit.statement, Broken) for part in spec.parts)
    unique: dict[str, tuple[Part, Clause]] = {}
    watched = {name: tuple(watched_in(entities_in(units))) for name, units in blocks.items()}
    for part in spec.parts:
        entity = part.unit.statement
        if not isinstance(entity, Entity):
            continue
        for problem in _alone(part.unit, watched[entity.name.text]):
            yield problem.moved(part.lines, part.offset)
        for clause in entity.clauses:
            if clause.word.text == "unique":
                where, first = unique.setdefault(entity.name.text, (part, clause))
                if first is not clause or where is not part:
                    line = where.lines + first.span.line
                    yield error(f"`unique` is already declared in line {line}; keep only one", part.here(clause.span))
            elif clause.name is not None and clause.name.text not in known and not unreadable:
                hint, fix = did_you_mean(clause.name.text, known)
                yield error(f"unknown entity `{clause.name.text}`{hint}", part.here(clause.name.span), fix)


@functools.lru_cache(maxsize=8192)
def _alone(unit: Unit, watched: tuple[str, ...]) -> tuple[EslProblem, ...]:
    """Return the problems of a block itself, given the watched names of all blocks of its entity. Cached because an
    editor checks the whole file at every keystroke."""
    return tuple(_entity(unit.statement, watched)) if isinstance(unit.statement, Entity) else ()


def _of_this(value: Expression, what: str) -> Iterator[EslProblem]:
    yield from expressions.check(value, at_finish=True)
    for name in expressions.names_in(value):
        if name.id != expressions.THIS:
            yield error(f"unknown name `{name.id}`: {what} is read from `this`", name.span)


def _entity(entity: Entity, watched: tuple[str, ...]) -> Iterator[EslProblem]:
    for clause in entity.clauses:
        if clause.expression is not None:
            yield from _of_this(clause.expression, f"the value after `{clause.word.text} … by`")
    target = entity.target
    yield from check_pattern(target)
    if target.qualname is None:
        module, dot, class_name = target.module.rpartition(".")
        fix = f"{module}:{class_name}" if dot else ""
        hint = f"; write `{fix}`" if fix else "; write `module:Class`"
        yield error(f"an entity is a class, written as module, colon, name{hint}", target.span, fix)
    seen: set[str] = set()
    for member in entity.members:
        if isinstance(member, Watch):
            if member.name.text in seen:
                yield error(f"`{member.name.text}` is watched twice; remove one", member.name.span)
            seen.add(member.name.text)
            yield from _of_this(member.value, "a watched value")
    for member in entity.members:
        if isinstance(member, EntityEvent):
            # Clauses of the entity about its class apply to all its methods.
            yield from check_filters((*(each for each in target.filters if each.names), *member.method.filters))
            yield from _event(member, watched)


def _event(event: EntityEvent, watched: tuple[str, ...]) -> Iterator[EslProblem]:
    if event.method.qualname is not None or "." in event.method.module:
        yield error("expected only the name of a method; its class is given after `is`", event.method.span)
    if event.event.text not in EVENTS:
        hint, fix = did_you_mean(event.event.text.lower(), EVENTS)
        hint = hint or f"; expected {listing(tuple(EVENTS), 'or')}"
        yield error(f"unknown event `{event.event.text}`{hint}", event.event.span, fix)
    else:
        fewest, most = EVENTS[event.event.text]
        if not fewest <= len(event.values) <= most:
            takes = expressions.count_of_values(fewest, most)
            message = f"`{event.event.text}` takes {takes}, but got {len(event.values)}"
            yield error(message, event.event.span)
    parameters = [parameter.name for parameter in event.parameters]
    for index, word in enumerate(parameters):
        if word.text in {earlier.text for earlier in parameters[:index]}:
            yield error(f"the parameter `{word.text}` is given twice; remove one", word.span, remove=True)
    at_finish = event.moment.text == "finish"
    known = (expressions.THIS, *expressions.AT_FINISH, *(word.text for word in parameters), *watched)
    for value in (*event.values, *([event.condition] if event.condition is not None else [])):
        yield from expressions.check(value, at_finish=at_finish)
        for name in expressions.names_in(value):
            yield from _known(name, known, event)
    if event.rate is not None:
        yield from check_rate(event.rate)


def _known(name: Name, known: tuple[str, ...], event: EntityEvent) -> Iterator[EslProblem]:
    if name.id not in known:
        hint, fix = did_you_mean(name.id, known)
        method = event.method.text
        hint = hint or f"; add it in the brackets after `{method}` if it is a parameter"
        yield error(f"unknown name `{name.id}`{hint}", name.span, fix)
