"""Check a spec against the source of a workspace: rules that match nothing or too much, missing parameters, properties
read without `unsafe`. Only a problem that the source proves is an error."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace

from clew.esl.assist.did_you_mean import Proposals
from clew.esl.checker.channels import has_wildcard
from clew.esl.index.c_functions import functions_in
from clew.esl.index.deadline import Deadline
from clew.esl.index.declarations import FunctionInfo
from clew.esl.index.decorators import used_in
from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex
from clew.esl.index.match import RuleMatch, functions_of
from clew.esl.lower import expressions
from clew.esl.lower.lower import target_of
from clew.esl.syntax.ast import (
    Act,
    Attribute,
    Broken,
    Clause,
    Entity,
    EntityEvent,
    Expression,
    Include,
    LevelMap,
    Name,
    Pattern,
    Scope,
    Spec,
    Unary,
    Watch,
)
from clew.esl.syntax.keywords import NAMING
from clew.esl.syntax.problem import EslProblem, did_you_mean, error, listing, warning
from clew.esl.syntax.span import Span
from clew.records.plan.match import has_filters
from clew.records.plan.match import pattern as compiled_glob
from clew.records.plan.plan import Rule
from clew.source.c_modules import is_compiled

BROAD = 1000
"""Number of matches above which a rule is probably too broad."""


def check_source(
    spec: Spec, found: Iterable[RuleMatch], index: SourceIndex, proposals: Proposals
) -> Iterator[EslProblem]:
    """Yield problems of a spec; `found` are the rules of its statements without errors."""
    checker = _Checker(index, proposals)
    acts = 0
    for each in found:
        acts += 1
        target = each.rule.rule.target
        find = functools.partial(checker.against, each)
        shape = not each.functions or has_filters(each.rule.rule)
        problems = proposals.answer(("against", each.rule.meant), find, index.paths_named(target), shape=shape)
        part = each.rule.part
        for problem in problems:
            yield problem.moved(part.lines, part.offset)
    is_followed = False
    for part in spec.parts:
        match part.unit.statement:
            case LevelMap() | Scope() as statement:
                patterns = _patterns(statement)
                paths = index.answer(
                    ("files of patterns", part.unit), functools.partial(_paths, patterns, index), shape=False
                )
                check = functools.partial(checker.patterns, patterns)
                for problem in proposals.answer(("patterns", part.unit), check, paths):
                    yield problem.moved(part.lines, part.offset)
            case Include() | Broken():
                is_followed = True
    if acts and not is_followed:
        yield warning(
            "no pack is included, so causality through threads, tasks, queues and processes is not recorded; "
            "add `include standard;`",
            Span(1, 1, 1, 1),
            "include standard;\n",
        )


def _patterns(statement: LevelMap | Scope) -> list[Pattern]:
    """Return the patterns that are not rules. A wildcard excludes matching functions if any; an exact pattern that
    matches none is a mistake."""
    if isinstance(statement, LevelMap):
        return [label.pattern for label in statement.labels]
    return [excluded for excluded in statement.excepts if not has_wildcard(excluded.module)]


def _paths(patterns: list[Pattern], index: SourceIndex) -> frozenset[str]:
    return frozenset(path for pattern in patterns for path in index.paths_named(target_of(pattern)))


class _Checker:
    def __init__(self, index: SourceIndex, proposals: Proposals) -> None:
        self.index = index
        self.proposals = proposals
        self._properties: dict[str, frozenset[str]] = {}

    def against(self, each: RuleMatch) -> tuple[EslProblem, ...]:
        """Check a rule against its functions. Spans count from the beginning of the statement's block."""
        return (*self.count(each), *self.values_of(each))

    def values_of(self, each: RuleMatch) -> Iterator[EslProblem]:
        match each.rule.part.unit.statement, each.rule.meant.node:
            case Entity() as entity, EntityEvent() as event:
                yield from self.event(event, entity, each.functions)
            case _, Act(clauses=clauses) as act:
                for clause in clauses:
                    if clause.expression is not None:
                        yield from self.values(clause.expression, each.functions)
                    elif clause.word.text == "as" and act.verb.text in NAMING:
                        yield from _value_as_name(clause, each.functions)

    # Number of functions.

    def count(self, each: RuleMatch) -> Iterator[EslProblem]:
        pattern, total = each.rule.meant.pattern, len(each.functions)
        yield from self._classes(pattern)
        if total > BROAD:
            message = f"this matches {total} functions, and every call of each is recorded; name fewer modules, or add `except`"
            yield warning(message, pattern.span)
        elif not total and each.rule.rule.excepts and functions_of(Rule(each.rule.rule.target), self.index):
            yield warning("`except` excludes every function that this pattern matches; make it narrower", pattern.span)
        elif not total and isinstance(each.rule.meant.node, EntityEvent) and each.rule.rule.types:
            found = functions_of(each.rule.rule._replace(types=()), self.index)
            yield from _mistyped(each.rule.meant.node, found) if found else self._nothing(pattern, method=True)
        elif not total and pattern.filters and self._named(pattern):
            yield from self._filtered_out(pattern, self._named(pattern))
        elif not total:
            yield from self._nothing(pattern, method=isinstance(each.rule.meant.node, EntityEvent))

    def patterns(self, patterns: list[Pattern]) -> tuple[EslProblem, ...]:
        return tuple(problem for pattern in patterns for problem in self.pattern(pattern))

    def pattern(self, pattern: Pattern) -> Iterator[EslProblem]:
        if not functions_of(Rule(target_of(pattern)), self.index):
            yield from self._nothing(pattern)

    def _named(self, pattern: Pattern) -> int:
        """Return how many functions the pattern matches without its filters."""
        return len(functions_of(Rule(target_of(replace(pattern, filters=()))), self.index))

    def _filtered_out(self, pattern: Pattern, named: int) -> Iterator[EslProblem]:
        """Yield problems of filters that exclude all matching functions, with likely corrections."""
        none = f"of {named} function{'s' * (named != 1)} that `{pattern.text}` matches, none"
        for each in pattern.filters:
            if functions_of(Rule(target_of(replace(pattern, filters=(each,)))), self.index):
                continue
            match each.word.text:
                case "async":
                    yield warning(f"{none} is an `async def`", each.word.span)
                case "decorated by":
                    for name in each.names:
                        hint, fix = self.proposals.among(name.text, self._decorators)
                        yield warning(f"{none} has a decorator `{name.text}`{hint}", name.span, fix)
                case _:
                    if all(has_wildcard(name.text) or self._is_class(name.text) for name in each.names):
                        classes = listing([name.text for name in each.names])
                        yield warning(f"{none} is in a subclass of {classes}", each.word.span)
            return
        yield warning(f"{none} passes all of its filters; remove one", pattern.span)

    def _decorators(self, deadline: Deadline) -> list[str]:
        return sorted(used_in(self.index, deadline))

    def _labels(self, deadline: Deadline) -> list[str]:
        deadline.read(self.index, self.index.files)

        def of_file(file: SourceFile) -> tuple[str, ...]:
            deadline.check()
            return tuple(known.label for known in self.index.classes(file))

        return [each for some in self.index.answer_by_file("classes", self.index.files, of_file) for each in some]

    def _is_class(self, name: str) -> bool:
        """Tell whether a class exists; True for classes outside the project, whose source may be missing."""
        return not self._is_here(name.partition(":")[0].partition(".")[0]) or self.index.ancestry.finds(name)

    def _classes(self, pattern: Pattern) -> Iterator[EslProblem]:
        """Yield problems of unknown classes in filters."""
        for each in pattern.filters:
            for name in each.names if each.word.text != "decorated by" else ():
                if not has_wildcard(name.text) and not self._is_class(name.text):
                    hint, fix = self.proposals.among(name.text, self._labels)
                    yield warning(f"unknown class `{name.text}`{hint}", name.span, fix)

    def _nothing(self, pattern: Pattern, method: bool = False) -> Iterator[EslProblem]:
        """Yield problems of a pattern that matches no function, with a likely correction. Modules of the standard
        library and modules written in C, whose functions are wrapped, are skipped."""
        top = pattern.module.partition(".")[0]
        if is_compiled(pattern.module):
            names = functions_in(pattern.module)
            if names is not None and not any(compiled_glob(pattern.qualname or "**").match(name) for name in names):
                hint, near = did_you_mean(pattern.qualname or "", names)
                message = f"`{pattern.module}`, which is written in C, has no function `{pattern.qualname}`{hint}"
                yield warning(message, pattern.span, f"{pattern.module}:{near}" if near else "")
            return
        if self._is_made(pattern):
            message = f"`{pattern.text}` is generated by `@dataclass` and has no source code to record"
            yield warning(f"{message}; name its caller instead", pattern.span)
            return
        proposal = self.proposals.of(pattern)
        if proposal == pattern.text:  # the module exists but contains no function
            proposal = ""
        fix = shown = proposal
        if method and proposal:
            owner, near_owner = pattern.text.rpartition(".")[0], proposal.rpartition(".")[0]
            if near_owner == owner:
                fix = shown = proposal.rpartition(".")[2]
            else:
                # The span is the method's. The class is in another statement, and if it exists it is the intended one.
                fix, shown = "", "" if self._has_class(pattern) else proposal
        foreign = not self._is_here(top) and not has_wildcard(top)
        if shown and (not foreign or top in shown.partition(":")[0].split(".")):
            yield warning(f"no function matches `{pattern.text}`; did you mean `{shown}`?", pattern.span, fix)
        elif not foreign:
            message = f"no function of {self.index.root.name} matches `{pattern.text}`; check the names"
            yield warning(message, pattern.span)
        elif top not in sys.stdlib_module_names:
            message = (
                f"no function of {self.index.root.name} matches `{pattern.text}`; installed packages are not checked"
            )
            message += f"; did you mean `{shown}`?" if shown else ""
            yield warning(message, pattern.span, fix, elsewhere=top)

    def _is_made(self, pattern: Pattern) -> bool:
        """Tell whether a method is generated by a dataclass."""
        owner, _, name = (pattern.qualname or "").rpartition(".")
        classes = (each for file in self.index.files_named(target_of(pattern)) for each in self.index.classes(file))
        return any(each.qualname == owner and name in each.generated for each in classes)

    def _has_class(self, pattern: Pattern) -> bool:
        """Tell whether the class of an entity's line contains any function."""
        owner = Pattern(pattern.span, pattern.module, f"{(pattern.qualname or '').rpartition('.')[0]}.**")
        return bool(functions_of(Rule(target_of(owner)), self.index))

    def _is_here(self, top: str) -> bool:
        return self.index.has_top(top)

    # Values and parameters.

    def values(self, value: Expression, functions: tuple[FunctionInfo, ...]) -> Iterator[EslProblem]:
        """Yield problems of names that the matching functions do not have, and of properties read without `unsafe`."""
        reported: set[str] = set()
        for name in expressions.names_in(value):
            if name.id not in expressions.AT_FINISH and name.id not in reported:
                reported.add(name.id)
                lacking = [function for function in functions if not _has(function, name.id)]
                if lacking:
                    yield _lacks(name, lacking, functions)
        yield from self._unsafe_reads(value, functions)

    def _unsafe_reads(self, value: Expression, functions: tuple[FunctionInfo, ...]) -> Iterator[EslProblem]:
        if isinstance(value, Unary) and value.operator == "unsafe":
            return
        if isinstance(value, Attribute) and isinstance(value.object, Name) and value.object.id == expressions.THIS:
            owner = next(
                (f for f in functions if f.this and f"{_class_of(f)}.{value.name.text}" in self._reads(f)), None
            )
            if owner is not None:
                yield error(
                    f"`{value.name.text}` is a property of `{_class_of(owner)}`, so reading it runs code of the traced "
                    "program; write `unsafe` before the value to allow that",
                    value.span,
                )
        for child in expressions.children(value):
            yield from self._unsafe_reads(child, functions)

    def _reads(self, function: FunctionInfo) -> frozenset[str]:
        """Return the properties defined in the function's file, as Class.name."""
        if function.file not in self._properties:
            file = self.index.file_at(function.file)
            inside = self.index.functions(file) if file is not None else ()
            self._properties[function.file] = frozenset(f.name for f in inside if f.is_property)
        return self._properties[function.file]

    def event(self, event: EntityEvent, entity: Entity, functions: tuple[FunctionInfo, ...]) -> Iterator[EslProblem]:
        """Yield problems of an entity's line and the methods it names. A method without any of the parameters is not
        the intended one."""
        watched = {member.name.text: member.value for member in entity.members if isinstance(member, Watch)}
        parameters = {parameter.name.text: parameter for parameter in event.parameters}
        for parameter in event.parameters:
            name = Name(parameter.name.span, parameter.name.text)
            lacking = [function for function in functions if not _has(function, name.id)]
            if lacking:
                yield _lacks(name, lacking, functions)
        condition = [event.condition] if event.condition is not None else []
        owned = [clause.expression for clause in entity.clauses if clause.expression is not None]
        read = [*event.values, *condition, *watched.values(), *owned]
        for value in read:
            yield from self._unsafe_reads(value, functions)
        for value in event.values:
            for used in expressions.names_in(value):
                if used.id == expressions.THIS and used.id not in parameters:
                    lacking = [function for function in functions if not function.this]
                    if lacking:
                        yield _lacks(used, lacking, functions)
        if event.moment.text == "start" and event.method.module == "__init__" and any(map(_reads_this, read)):
            message = "an object has no attributes yet at the start of `__init__`; write `when finish __init__`"
            yield warning(message, event.moment.span, "finish")


def _reads_this(value: Expression) -> bool:
    if isinstance(value, Attribute) and isinstance(value.object, Name) and value.object.id == expressions.THIS:
        return True
    return any(map(_reads_this, expressions.children(value)))


def _mistyped(event: EntityEvent, functions: tuple[FunctionInfo, ...]) -> Iterator[EslProblem]:
    """Yield problems when no method of that name annotates its parameters as the line does."""
    for parameter in event.parameters:
        for function in functions[:1]:
            annotations = dict(zip(function.parameters, function.types, strict=True))
            actual, name = annotations.get(parameter.name.text), parameter.name.text
            if parameter.type is not None and actual and actual != parameter.type.text:
                message = f"`{name}` is `{actual}` in `{function.label}`, not `{parameter.type.text}`"
                yield warning(message + "; correct or remove the type", parameter.type.span)


def _value_as_name(clause: Clause, functions: tuple[FunctionInfo, ...]) -> Iterator[EslProblem]:
    """Yield problems of a name like `order.number`, when functions have a parameter `order`."""
    name = clause.name
    first, dot, _ = name.text.partition(".") if name is not None else ("", "", "")
    if name is None or not dot or name.span.end - name.span.start != len(name.text):
        return  # a quoted name is intentional
    if functions and all(_has(function, first) for function in functions):
        message = f"the name is the literal text `{name.text}`; to use a value of `{first}`, write `({name.text})`"
        yield warning(message, name.span, f"({name.text})")


def _class_of(function: FunctionInfo) -> str:
    return function.name.rpartition(".")[0]


def _has(function: FunctionInfo, name: str) -> bool:
    # A function can have a parameter that is really named "this".
    return name in function.parameters or (name == expressions.THIS and bool(function.this))


def _lacks(name: Name, lacking: list[FunctionInfo], functions: tuple[FunctionInfo, ...]) -> EslProblem:
    """Return an error when none of the matching functions has the parameter, else a warning with their number."""
    make = error if len(lacking) == len(functions) else warning
    first = lacking[0]
    many = len(functions) > 1
    some = f"{len(lacking)} of the {len(functions)} functions that match" if many else f"`{first.label}`"
    one = f", for example `{first.label}`" if many else ""
    if name.id == expressions.THIS:
        verb = "are not methods" if many else "is not a method"
        return make(f"`this` is the object of a method, but {some} {verb}{one}; name a parameter", name.span)
    hint, fix = did_you_mean(name.id, first.parameters)
    if not hint:
        hint = f"; it has {listing(first.parameters, 'and')}" if first.parameters else "; it has no parameters"
    verb = "lack the" if many else "has no"
    return make(f"{some} {verb} parameter `{name.id}`{one}{hint}", name.span, fix)
