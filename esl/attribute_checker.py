"""Attributes of `this` that no object has, as far as the workspace's source tells: misspelt ones, with the nearest name."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from clew.esl import expression
from clew.esl.ast import Act, Attribute, Entity, EntityEvent, Expression, Name, Part, Spec, Unit
from clew.esl.attributes import ClassName, attributes_of
from clew.esl.channels import has_wildcard
from clew.esl.functions import FunctionInfo
from clew.esl.index import SourceIndex
from clew.esl.lower import UnplacedRule
from clew.esl.matcher import RuleMatch
from clew.esl.object_names import lacks, names_of
from clew.esl.patience import NotNow
from clew.esl.problem import EslProblem, did_you_mean, listing, warning
from clew.esl.proposals import Proposals

_OF_CLASSES = frozenset(("__new__", "__init_subclass__", "__class_getitem__"))
"""Methods whose first parameter is the class."""


def check_attributes(
    spec: Spec, found: Iterable[RuleMatch], index: SourceIndex, proposals: Proposals
) -> Iterator[EslProblem]:
    """`found` are the rules of the spec's statements without errors. What there is no time for is postponed."""
    for each in found:
        node = each.rule.meant.node
        if isinstance(node, Act):
            reads = _reads_of_act(each.rule.meant)
            if reads:
                for called, read in reads:
                    meant = [function for function in each.functions if _is_object(function, called)]
                    classes = dict.fromkeys((function.module, function.class_name) for function in meant)
                    yield from _slip(read, list(classes), each.rule.part, index, proposals)
    classes_of = _classes_of(spec)
    for part in spec.parts:
        if isinstance(part.unit.statement, Entity) and (name := classes_of.get(part.unit.statement.name.text)):
            for read in _reads_of_entity(part.unit):
                yield from _slip(read, [name], part, index, proposals)


def _classes_of(spec: Spec) -> dict[str, ClassName]:
    """The class of each entity, where one name says it."""
    found: dict[str, ClassName] = {}
    for part in spec.parts:
        match part.unit.statement:
            case Entity(target=target, name=name) if target.qualname and not has_wildcard(target.text):
                found[name.text] = target.module, target.qualname
    return found


def _slip(
    read: Attribute, classes: list[ClassName], part: Part, index: SourceIndex, proposals: Proposals
) -> Iterator[EslProblem]:
    name = read.name.text
    try:
        lacking = [each for each in classes if lacks(index, each, name, proposals.patience)]
    except NotNow:
        proposals.postponed = True
        return
    if not lacking:
        return
    first = ":".join(lacking[0])
    if len(classes) > 1:
        some = f"{len(lacking)} of the {len(classes)} classes that match"
        head = f"objects of {some} have no attribute `{name}`, those of `{first}` for one"
    else:
        head = f"objects of `{first}` have no attribute `{name}`, as the source tells"
    known = names_of(index, lacking[0])
    # What a class keeps for itself has its name before it.
    private = next((each for each in known if name.startswith("__") and each.endswith(name)), "")
    hint, fix = (f"; did you mean `{private}`?", private) if private else did_you_mean(name, known)
    if not hint and (stored := sorted(attributes_of(index, lacking[0]), key=lambda each: each.startswith("_"))):
        hint = f"; there is {listing(stored, 'and', 8)}"
    yield warning(head + hint, part.here(read.name).span, fix)


def _is_object(function: FunctionInfo, name: str) -> bool:
    """Does a name mean the object of the method, and neither another parameter nor the class?"""
    if not function.this or "classmethod" in function.decorators or function.name.rpartition(".")[2] in _OF_CLASSES:
        return False
    return name == function.this or (name == expression.THIS and name not in function.parameters)


@functools.lru_cache(maxsize=8192)
def _reads_of_act(rule: UnplacedRule) -> tuple[tuple[str, Attribute], ...]:
    """Attributes of what a name means, with the name."""
    assert isinstance(rule.node, Act)
    values = [clause.expression for clause in rule.node.clauses if clause.expression is not None]
    return tuple(each for value in values for each in _reads(value))


@functools.lru_cache(maxsize=8192)
def _reads_of_entity(unit: Unit) -> tuple[Attribute, ...]:
    entity = unit.statement
    assert isinstance(entity, Entity)
    values = [clause.expression for clause in entity.clauses if clause.expression is not None]
    for member in entity.members:
        if not isinstance(member, EntityEvent):
            values.append(member.value)
        elif all(parameter.name.text != expression.THIS for parameter in member.parameters):
            values += [*member.values, *([member.condition] if member.condition is not None else [])]
    return tuple(read for value in values for name, read in _reads(value) if name == expression.THIS)


def _reads(value: Expression) -> Iterator[tuple[str, Attribute]]:
    if isinstance(value, Attribute) and isinstance(value.object, Name):
        yield value.object.id, value
    for child in expression.children(value):
        yield from _reads(child)
