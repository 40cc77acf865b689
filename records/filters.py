"""Which of the functions that a rule names it means: `async` ones, those with a decorator, those of subclasses of a class.
The one answer shared by the language's matcher and the traced process.
"""

from __future__ import annotations

from clew.records.ancestry import NO, YES, Ancestry, Answer
from clew.records.match import matches, pattern
from clew.records.plan import Rule, Target
from clew.records.tuples import NamedTuple


class Candidate(NamedTuple):
    """A function, with what filters ask of it."""

    modules: tuple[str, ...]
    """All names of its module; the first is the one that its classes are known by."""
    qualname: str
    file: str
    is_async: bool
    decorators: tuple[str, ...] = ()
    """All the names that its decorators have: as they are written, and by the file's imports."""
    class_name: str = ""
    """The innermost class around it."""


def asks_source(rule: Rule) -> bool:
    """Does only the source tell what it means?"""
    return any(target.decorators or target.classes for target in (rule.target, *rule.excepts))


def meant(rule: Rule, function: Candidate, ancestry: Ancestry) -> Answer:
    """Does a rule mean a function?"""
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
