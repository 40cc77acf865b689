"""Apply a rule's filters to the functions that its names match: `async` functions, decorated functions, methods of
subclasses. The language's matcher and the traced process share it."""

from __future__ import annotations

from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.match import matches, pattern
from clew.records.plan.plan import Rule, Target
from clew.source.class_hierarchy import NO, YES, Ancestry, Answer


class Candidate(NamedTuple):
    """A function with the properties that filters use."""

    modules: tuple[str, ...]
    """All names of its module; its classes use the first one."""
    qualname: str
    file: str
    is_async: bool
    decorators: tuple[str, ...] = ()
    """All names of its decorators: as written, and by the file's imports."""
    class_name: str = ""
    """The innermost enclosing class."""


def asks_source(rule: Rule) -> bool:
    """Tell whether only the source decides what a rule matches."""
    return any(target.decorators or target.classes for target in (rule.target, *rule.excepts))


def meant(rule: Rule, function: Candidate, ancestry: Ancestry) -> Answer:
    """Match a rule with a function."""
    answer = _means(rule.target, function, ancestry)
    for target in rule.excepts:
        if not answer.holds:
            break
        excepted = _means(target, function, ancestry)
        if excepted.holds:
            answer = Answer(bool(excepted.doubt), excepted.doubt)
    return answer if answer.holds else NO


def _means(target: Target, function: Candidate, ancestry: Ancestry) -> Answer:
    if target.is_async and not function.is_async:
        return NO
    if not any(matches(target, module, function.qualname, function.file) for module in function.modules):
        return NO
    globs = map(pattern, target.decorators)
    if target.decorators and not any(glob.match(name) for glob in globs for name in function.decorators):
        return NO
    if not target.classes:
        return YES
    if not function.class_name:
        return NO
    return ancestry.descends(function.modules[0], function.class_name, target.classes, target.itself)
