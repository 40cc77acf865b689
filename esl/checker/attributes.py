"""Report attributes of `this` that no object has according to the workspace's source: misspelt names, with the most
similar one."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator

from clew.esl.assist.did_you_mean import Proposals
from clew.esl.checker.channels import has_wildcard
from clew.esl.index.attributes import ClassName, attributes_of
from clew.esl.index.deadline import NotNow
from clew.esl.index.declarations import FunctionInfo
from clew.esl.index.index import SourceIndex
from clew.esl.index.match import RuleMatch
from clew.esl.index.possible_attributes import lacks, names_of
from clew.esl.lower import expressions
from clew.esl.lower.lower import UnplacedRule
from clew.esl.syntax.ast import Act, Attribute, Entity, EntityEvent, Expression, Name, Part, Spec, Unit
from clew.esl.syntax.problem import EslProblem, did_you_mean, listing, warning

_OF_CLASSES = frozenset(("__new__", "__init_subclass__", "__class_getitem__"))
"""Methods whose first parameter is the class."""


def check_attributes(
    spec: Spec, found: Iterable[RuleMatch], index: SourceIndex, proposals: Proposals
) -> Iterator[EslProblem]:
    """Yield problems of attributes; `found` are the rules of the spec's statements without errors. Checks that exceed
    the time are postponed."""
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
    """Return the class of each entity that names exactly one."""
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
        lacking = [each for each in classes if lacks(index, each, name, proposals.deadline)]
    except NotNow:
        proposals.postponed = True
        return
    if not lacking:
        return
    first = ":".join(lacking[0])
    if len(classes) > 1:
        some = f"{len(lacking)} of the {len(classes)} classes that match"
        head = f"objects of {some} have no attribute `{name}`, for example those of `{first}`"
    else:
        head = f"objects of `{first}` have no attribute `{name}` in the source"
    known = names_of(index, lacking[0])
    # A class prefixes its private names with its own name.
    private = next((each for each in known if name.startswith("__") and each.endswith(name)), "")
    hint, fix = (f"; did you mean `{private}`?", private) if private else did_you_mean(name, known)
    if not hint and (stored := sorted(attributes_of(index, lacking[0]), key=lambda each: each.startswith("_"))):
        hint = f"; known attributes: {listing(stored, 'and', 8)}"
    yield warning(head + hint, part.here(read.name).span, fix)


def _is_object(function: FunctionInfo, name: str) -> bool:
    """Tell whether a name means the object of the method, not another parameter or the class."""
    if not function.this or "classmethod" in function.decorators or function.name.rpartition(".")[2] in _OF_CLASSES:
        return False
    return name == function.this or (name == expressions.THIS and name not in function.parameters)


@functools.lru_cache(maxsize=8192)
def _reads_of_act(rule: UnplacedRule) -> tuple[tuple[str, Attribute], ...]:
    """Return the attribute reads of a rule, each with the name it starts from."""
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
        elif all(parameter.name.text != expressions.THIS for parameter in member.parameters):
            values += [*member.values, *([member.condition] if member.condition is not None else [])]
    return tuple(read for value in values for name, read in _reads(value) if name == expressions.THIS)


def _reads(value: Expression) -> Iterator[tuple[str, Attribute]]:
    if isinstance(value, Attribute) and isinstance(value.object, Name):
        yield value.object.id, value
    for child in expressions.children(value):
        yield from _reads(child)
