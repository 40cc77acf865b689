"""Check a parsed spec without the program's source: words, numbers, clauses, contradictions, channels with one end.
Invariant: a tree without errors can be lowered."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Collection, Iterator

from clew.esl.checker.channels import check_ends, has_wildcard, last_name
from clew.esl.checker.clauses import check_pattern, check_rate
from clew.esl.checker.duplicates import check_repeated
from clew.esl.checker.entities import check_entities
from clew.esl.checker.redundant_packs import idle_packs
from clew.esl.lower import expressions
from clew.esl.lower.resolve import fits, kind_of, parameters_of
from clew.esl.packs import registry
from clew.esl.syntax.ast import (
    Act,
    Budget,
    Clause,
    Const,
    Default,
    Include,
    LevelMap,
    Logs,
    Pattern,
    Quota,
    Redact,
    Sample,
    Scope,
    Spec,
    Unit,
    Word,
)
from clew.esl.syntax.keywords import BUILT_IN_LEVELS, CLAUSES, EACH, LOG_LEVELS, NAMING, UNITS, WHOLE_CALLS
from clew.esl.syntax.problem import EslProblem, did_you_mean, error, listing
from clew.records.format.event import MAX_TEXT
from clew.records.format.header import CHUNK_SIZE

SMALLEST_QUOTA = 2 * CHUNK_SIZE
_NEEDED = {
    "key": "which identifies the object",
    "value": "which is recorded",
    "as": "the name of the request, in brackets if it is a value",
}
_NAME_NEEDED = "`resource` needs `as NAME`, the name of the pool; add it after the pattern"


def moment_of(act: Act) -> str:
    return "finish" if act.has("finish") else "start"


def check_tree(spec: Spec, annotated: Callable[[], Collection[str]] = frozenset) -> Iterator[EslProblem]:
    """Yield problems of a spec. `annotated` returns the channels of the program's own annotations; it is called only if
    needed."""
    for part in spec.parts:
        for problem in _alone(part.unit):
            yield problem.moved(part.lines, part.offset)
    yield from check_entities(spec)
    yield from check_repeated(spec)
    yield from idle_packs(spec)
    yield from check_ends(spec, annotated)


@functools.lru_cache(maxsize=8192)
def _alone(unit: Unit) -> tuple[EslProblem, ...]:
    """Return the problems of a statement itself. Cached because an editor checks the whole file at every keystroke."""
    match unit.statement:
        case Include() as statement:
            found = _include(statement)
        case Scope(patterns=patterns, excepts=excepts):
            found = (problem for pattern in (*patterns, *excepts) for problem in check_pattern(pattern))
        case Act() as statement:
            found = _act(statement)
        case Logs() as statement:
            found = _logs(statement)
        case Redact() as statement:
            found = _redact(statement)
        case Default() as statement:
            found = _default(statement)
        case Budget() as statement:
            found = _budget(statement)
        case Sample() as statement:
            found = _sample(statement)
        case Quota() as statement:
            found = _quota(statement)
        case LevelMap() as statement:
            found = _level(statement)
        case _:
            return ()
    return tuple(found)


# Single statements.


def _include(statement: Include) -> Iterator[EslProblem]:
    for word in statement.packs:
        if word.text not in registry.known():
            hint, fix = did_you_mean(word.text, registry.known())
            hint = hint or f"; known packs: {listing(registry.known(), 'and')}"
            yield error(f"unknown pack `{word.text}`{hint}", word.span, fix)
    seen: set[tuple[str, str]] = set()
    for given in statement.given:
        pack, name, value = given.pack, given.name.text, given.value
        known = parameters_of(pack)
        if name not in known:
            hint, fix = did_you_mean(name, known)
            hint = hint or (f"; it has {listing(tuple(known), 'and')}" if known else "; it has no parameters")
            yield error(f"`{pack}` has no parameter `{name}`{hint}", given.name.span, fix)
        elif not isinstance(value, Const):
            yield error("expected a string, a number, `True`, `False` or `None`", value.span)
        elif not fits(value.value, known[name]):
            yield error(f"the parameter `{name}` of `{pack}` is {kind_of(known[name])}", value.span)
        if (pack, name) in seen:
            yield error(f"`{name}` is given twice; keep only one", given.name.span)
        seen.add((pack, name))


def _default(statement: Default) -> Iterator[EslProblem]:
    if not isinstance(statement.value, Const):
        message = "the default of a parameter must be a string, a number, `True`, `False` or `None`"
        yield error(message, statement.value.span)


def _redact(statement: Redact) -> Iterator[EslProblem]:
    for word in statement.texts:
        if not word.text.strip():
            yield error("the name is empty; write a name, or remove it", word.span)
        elif statement.matching:
            try:
                matches_nothing = re.compile(word.text).search("")
            except (re.error, RecursionError, OverflowError) as problem:
                yield error(f"invalid regular expression: {problem}", word.span)
            else:
                if matches_nothing:
                    yield error(
                        "the regular expression matches the empty text; require at least one character", word.span
                    )
        elif not re.fullmatch(r"[\w*?.-]+", word.text):
            message = "`redact` takes names with `*` and `?`; write `redact matching` for regular expressions on texts"
            yield error(message, word.span)


def _act(act: Act) -> Iterator[EslProblem]:
    verb = act.verb.text
    yield from check_pattern(act.pattern)
    yield from _modifiers(act)
    required, optional = CLAUSES[verb]
    seen: dict[str, Clause] = {}
    for clause in act.clauses:
        word = clause.word.text
        if word not in required + optional:
            allowed = listing(required + optional, "and")
            yield error(f"`{verb}` has no `{word}`; it has {allowed}", clause.word.span)
        elif word in seen:
            yield error(f"`{word}` is given twice; keep only one", clause.word.span)
        seen.setdefault(word, clause)
        if clause.expression is not None:
            at_finish = act.has("finish") or (word == "item" and act.has("taken"))
            yield from expressions.check(clause.expression, at_finish=at_finish)
        if clause.expression is not None and word == "as" and verb not in NAMING:
            yield error(
                "only the name of a request can be a value; write a name, in quotes if needed", clause.expression.span
            )
        if clause.unit is not None:
            yield from check_rate(clause)
        if word == "capacity" and act.has("returned"):
            yield error("a pool's `capacity` belongs to the statements `resource taken`; move it there", clause.span)
    for word in required:
        if word not in seen:
            if verb == "resource":
                yield error(_NAME_NEEDED, act.pattern.span)
                continue
            what = _NEEDED.get(word, "which holds the headers")
            yield error(f"`{verb}` needs `{word} EXPRESSION`, {what}; add it after the pattern", act.pattern.span)
    named = act.clause("as")
    has_key = "key" in required or act.clause("key") is not None
    if has_key and named is None and verb != "resource" and not last_name(act.pattern):
        yield error(
            "this pattern can match several functions, so the channel needs a name; add `as NAME`", act.pattern.span
        )
    if verb == "request" and named is None and not last_name(act.pattern):
        yield error(
            "this pattern can match several functions, so the request needs a name; add `as NAME`", act.pattern.span
        )
    if named is not None and named.name is not None and not named.name.text.strip():
        yield error("the name is empty; write one", named.name.span)
    if (limit := act.clause("limit")) is not None and limit.number is not None:
        text = limit.number.text
        if not text.isdigit() or not 1 <= int(text[:9]) <= MAX_TEXT or len(text) > 9:
            yield error(
                f"the limit of a payload must be a number of characters from 1 to {MAX_TEXT}", limit.number.span
            )


def _modifiers(act: Act) -> Iterator[EslProblem]:
    verb = act.verb.text
    seen: set[str] = set()
    for word in act.modifiers:
        if word.text in seen:
            yield error(f"`{word.text}` is given twice; remove one", word.span, remove=True)
        elif word.text == "each" and verb not in EACH:
            message = f"only {listing(EACH, 'and')} take a list of keys; remove `each`"
            yield error(message, word.span, remove=True)
        elif word.text == "finish" and verb in WHOLE_CALLS:
            yield error(f"`{verb}` applies to the whole call; remove `finish`", word.span, remove=True)
        seen.add(word.text)
    if {"start", "finish"} <= seen:
        yield error("an action is recorded at `start` or at `finish`; for both, write two statements", act.verb.span)


def _logs(logs: Logs) -> Iterator[EslProblem]:
    if len(logs.levels) > 1:
        yield error("`level` is given twice; keep only the lowest level to record", logs.levels[1].span)
    if len(logs.rates) > 1:
        yield error("`at most` is given twice; keep only one", logs.rates[1].span)
    for rate in logs.rates:
        yield from check_rate(rate)
    for word in logs.levels:
        if level_number(word) is None:
            hint, fix = did_you_mean(word.text.upper(), LOG_LEVELS)
            hint = hint or f"; expected {listing(LOG_LEVELS, 'or')}, or a number"
            yield error(f"unknown level `{word.text}`{hint}", word.span, fix)
    for pattern in logs.loggers:
        if logger_prefix(pattern) is None:
            yield error(
                "loggers are selected by a prefix of their names; write `app`, `app.*` or `app.db.*`", pattern.span
            )


def level_number(word: Word) -> int | None:
    if word.text.isdigit():
        return int(word.text) if len(word.text) < 6 else None
    number = logging.getLevelNamesMapping().get(word.text.upper())
    return number if word.text.upper() in (*LOG_LEVELS, "WARN", "NOTSET") else None


def logger_prefix(pattern: Pattern) -> str | None:
    """Return the prefix of a logger pattern: `app` for `app.*`, `app.**` and `app`, "" (all loggers) for `*`."""
    if pattern.qualname is not None:
        return None
    name = pattern.module
    if name in ("*", "**"):
        return ""
    for ending in (".**", ".*"):
        name = name.removesuffix(ending)
    return None if has_wildcard(name) or not name else name


def _budget(budget: Budget) -> Iterator[EslProblem]:
    if not budget.percent:
        value = float(budget.number.text.replace("_", ""))
        guess = f"{value * 100:g}%" if 0 < value < 1 else f"{budget.number.text}%"
        yield error(f"a budget is a percentage of the run time; write `{guess}`", budget.number.span, guess)
    elif not 0 < float(budget.number.text.replace("_", "")) <= 100:
        yield error("a budget must be more than 0% and at most 100% of the run time", budget.number.span)


def _sample(sample: Sample) -> Iterator[EslProblem]:
    if not sample.percent:
        guess = f"{sample.number.text}%"
        yield error(f"a sample is a percentage of the request flows; write `{guess}`", sample.number.span, guess)
    elif float(sample.number.text.replace("_", "")) > 100:
        yield error("a sample must be at most 100% of the request flows", sample.number.span)


def quota_bytes(quota: Quota) -> int:
    """Return the bytes of a quota with a known unit. Huge numbers are limited to one exbibyte."""
    return int(min(float(quota.number.text.replace("_", "")) * UNITS[quota.unit.text if quota.unit else ""], 1 << 60))


def _quota(quota: Quota) -> Iterator[EslProblem]:
    if quota.unit is None or quota.unit.text not in UNITS:
        near = quota.unit.text.upper() if quota.unit else ""
        near = (
            near
            if near in UNITS
            else {"K": "KB", "M": "MB", "G": "GB", "MIB": "MB", "GIB": "GB", "KIB": "KB"}.get(near, "")
        )
        hint = f"; did you mean `{near}`?" if near else f"; expected {listing(tuple(UNITS), 'or')}"
        if quota.unit is None:
            yield error(f"a quota needs a unit{hint}", quota.number.span)
        else:
            yield error(f"unknown unit `{quota.unit.text}`{hint}", quota.unit.span, near)
    elif quota_bytes(quota) < SMALLEST_QUOTA:
        yield error(f"a quota must be at least {SMALLEST_QUOTA >> 10}KB; increase it", quota.span)


def _level(level: LevelMap) -> Iterator[EslProblem]:
    if level.name.text in BUILT_IN_LEVELS:
        yield error(f"`{level.name.text}` is a built-in level; choose another name", level.name.span)
    if not level.labels:
        yield error("a level needs at least one `LABEL: PATTERN` in its braces", level.span)
    seen: dict[str, Word] = {}
    for label in level.labels:
        yield from check_pattern(label.pattern)
        if label.pattern.text in seen:
            other = seen[label.pattern.text].text
            yield error(
                f"`{label.pattern.text}` already has the label `{other}`, which takes precedence; remove one",
                label.pattern.span,
            )
        seen.setdefault(label.pattern.text, label.name)
