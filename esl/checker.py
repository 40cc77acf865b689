"""What can be wrong with a spec that has been read, found without looking at the program: words, numbers, clauses,
contradictions, channels with one end. Invariant: a tree without errors here can be lowered."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Collection, Iterator

from clew.esl import expression, packs
from clew.esl.ast import (
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
from clew.esl.channels import check_ends, has_wildcard, last_name
from clew.esl.clauses import check_pattern, check_rate
from clew.esl.entity_checker import check_entities
from clew.esl.idle import idle_packs
from clew.esl.meaning import fits, kind_of, parameters_of
from clew.esl.problem import EslProblem, did_you_mean, error, listing
from clew.esl.repeated import check_repeated
from clew.esl.words import BUILT_IN_LEVELS, CLAUSES, EACH, LOG_LEVELS, NAMING, UNITS, WHOLE_CALLS
from clew.records.event import MAX_TEXT
from clew.records.header import CHUNK_SIZE

SMALLEST_QUOTA = 2 * CHUNK_SIZE
_NEEDED = {
    "key": "what identifies the object",
    "value": "what to record",
    "as": "what the request is called, in brackets where it is a value",
}


def moment_of(act: Act) -> str:
    return "finish" if act.has("finish") else "start"


def check_tree(spec: Spec, annotated: Callable[[], Collection[str]] = frozenset) -> Iterator[EslProblem]:
    """`annotated` gives the channels that the program's own annotations use; it is called only if it matters."""
    for part in spec.parts:
        for problem in _alone(part.unit):
            yield problem.moved(part.lines, part.offset)
    yield from check_entities(spec)
    yield from check_repeated(spec)
    yield from idle_packs(spec)
    yield from check_ends(spec, annotated)


@functools.lru_cache(maxsize=8192)
def _alone(unit: Unit) -> tuple[EslProblem, ...]:
    """What is wrong with a statement by itself. Kept, because an editor asks for the whole file at every keystroke."""
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


# Statements on their own.


def _include(statement: Include) -> Iterator[EslProblem]:
    for word in statement.packs:
        if word.text not in packs.known():
            hint, fix = did_you_mean(word.text, packs.known())
            hint = hint or f"; there are {listing(packs.known(), 'and')}"
            yield error(f"there is no pack `{word.text}`{hint}", word.span, fix)
    seen: set[tuple[str, str]] = set()
    for given in statement.given:
        pack, name, value = given.pack, given.name.text, given.value
        known = parameters_of(pack)
        if name not in known:
            hint, fix = did_you_mean(name, known)
            hint = hint or (f"; there is {listing(tuple(known), 'and')}" if known else "; it has none at all")
            yield error(f"`{pack}` has no parameter `{name}`{hint}", given.name.span, fix)
        elif not isinstance(value, Const):
            yield error("a pack is given a string, a number, `True`, `False` or `None`", value.span)
        elif not fits(value.value, known[name]):
            yield error(f"the parameter `{name}` of `{pack}` is {kind_of(known[name])}", value.span)
        if (pack, name) in seen:
            yield error(f"`{name}` is given twice; keep one of them", given.name.span)
        seen.add((pack, name))


def _default(statement: Default) -> Iterator[EslProblem]:
    if not isinstance(statement.value, Const):
        message = "what a parameter says by itself is a string, a number, `True`, `False` or `None`"
        yield error(message, statement.value.span)


def _redact(statement: Redact) -> Iterator[EslProblem]:
    for word in statement.texts:
        if not word.text.strip():
            yield error("this is empty; write a name, or remove it", word.span)
        elif statement.matching:
            try:
                matches_nothing = re.compile(word.text).search("")
            except (re.error, RecursionError, OverflowError) as problem:
                yield error(f"this is no regular expression: {problem}", word.span)
            else:
                if matches_nothing:
                    yield error("this matches the empty text, and so is everywhere; demand a character", word.span)
        elif not re.fullmatch(r"[\w*?.-]+", word.text):
            message = "these are names, with `*` and `?`; for what stands in texts, write `redact matching`"
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
            yield error(f"`{word}` is said twice; keep one of them", clause.word.span)
        seen.setdefault(word, clause)
        if clause.expression is not None:
            yield from expression.check(clause.expression, at_finish=act.has("finish"))
        if clause.expression is not None and word == "as" and verb not in NAMING:
            yield error("only a request's name can be a value; write a name, or one in quotes", clause.expression.span)
        if clause.unit is not None:
            yield from check_rate(clause)
    for word in required:
        if word not in seen:
            what = _NEEDED.get(word, "what holds the headers")
            yield error(f"`{verb}` needs `{word} EXPRESSION`, {what}; add it after the pattern", act.pattern.span)
    named = act.clause("as")
    has_key = "key" in required or act.clause("key") is not None
    if has_key and named is None and not last_name(act.pattern):
        yield error(
            "this pattern can name several functions, so the channel needs a name: add `as NAME`", act.pattern.span
        )
    if verb == "request" and named is None and not last_name(act.pattern):
        yield error(
            "this pattern can name several functions, so the request needs a name: add `as NAME`", act.pattern.span
        )
    if named is not None and named.name is not None and not named.name.text.strip():
        yield error("this name is empty; write one", named.name.span)
    if (limit := act.clause("limit")) is not None and limit.number is not None:
        text = limit.number.text
        if not text.isdigit() or not 1 <= int(text[:9]) <= MAX_TEXT or len(text) > 9:
            yield error(f"a payload's limit is a number of characters from 1 to {MAX_TEXT}", limit.number.span)


def _modifiers(act: Act) -> Iterator[EslProblem]:
    verb = act.verb.text
    seen: set[str] = set()
    for word in act.modifiers:
        if word.text in seen:
            yield error(f"`{word.text}` is said twice; remove one", word.span, remove=True)
        elif word.text == "each" and verb not in EACH:
            message = f"only {listing(EACH, 'and')} take a list of keys; remove `each`"
            yield error(message, word.span, remove=True)
        elif word.text == "finish" and verb in WHOLE_CALLS:
            yield error(f"`{verb}` is about the whole call, from its start; remove `finish`", word.span, remove=True)
        seen.add(word.text)
    if {"start", "finish"} <= seen:
        yield error("an action is recorded at `start` or at `finish`; for both, write two statements", act.verb.span)


def _logs(logs: Logs) -> Iterator[EslProblem]:
    if len(logs.levels) > 1:
        yield error("one `level` is enough: the lowest that is captured", logs.levels[1].span)
    if len(logs.rates) > 1:
        yield error("`at most` is said twice; keep one of them", logs.rates[1].span)
    for rate in logs.rates:
        yield from check_rate(rate)
    for word in logs.levels:
        if level_number(word) is None:
            hint, fix = did_you_mean(word.text.upper(), LOG_LEVELS)
            hint = hint or f"; there are {listing(LOG_LEVELS, 'and')}, or a number"
            yield error(f"`{word.text}` is no level{hint}", word.span, fix)
    for pattern in logs.loggers:
        if logger_prefix(pattern) is None:
            yield error(
                "loggers are chosen by the beginning of their names: `app`, `app.*` or `app.db.*`", pattern.span
            )


def level_number(word: Word) -> int | None:
    if word.text.isdigit():
        return int(word.text) if len(word.text) < 6 else None
    number = logging.getLevelNamesMapping().get(word.text.upper())
    return number if word.text.upper() in (*LOG_LEVELS, "WARN", "NOTSET") else None


def logger_prefix(pattern: Pattern) -> str | None:
    """`app.*`, `app.**` and `app` are the prefix `app`; `*` is all loggers, the prefix ""."""
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
        yield error(f"a budget is a share of the run time in percent; write `{guess}`", budget.number.span, guess)
    elif not 0 < float(budget.number.text.replace("_", "")) <= 100:
        yield error("a budget is more than 0% and at most 100% of the run time", budget.number.span)


def _sample(sample: Sample) -> Iterator[EslProblem]:
    if not sample.percent:
        guess = f"{sample.number.text}%"
        yield error(f"a sample is a share of the request flows in percent; write `{guess}`", sample.number.span, guess)
    elif float(sample.number.text.replace("_", "")) > 100:
        yield error("a sample is at most 100% of the request flows", sample.number.span)


def quota_bytes(quota: Quota) -> int:
    """Only for a quota with a known unit. A number beyond all disks is cut to an exbibyte."""
    return int(min(float(quota.number.text.replace("_", "")) * UNITS[quota.unit.text if quota.unit else ""], 1 << 60))


def _quota(quota: Quota) -> Iterator[EslProblem]:
    if quota.unit is None or quota.unit.text not in UNITS:
        near = quota.unit.text.upper() if quota.unit else ""
        near = (
            near
            if near in UNITS
            else {"K": "KB", "M": "MB", "G": "GB", "MIB": "MB", "GIB": "GB", "KIB": "KB"}.get(near, "")
        )
        hint = f"; did you mean `{near}`?" if near else f"; there are {listing(tuple(UNITS), 'and')}"
        if quota.unit is None:
            yield error(f"a quota needs a unit{hint}", quota.number.span)
        else:
            yield error(f"`{quota.unit.text}` is no unit{hint}", quota.unit.span, near)
    elif quota_bytes(quota) < SMALLEST_QUOTA:
        yield error(f"a process cannot record anything in less than {SMALLEST_QUOTA >> 10}KB; give it more", quota.span)


def _level(level: LevelMap) -> Iterator[EslProblem]:
    if level.name.text in BUILT_IN_LEVELS:
        yield error(f"`{level.name.text}` is a level that clew has itself; choose another name", level.name.span)
    if not level.labels:
        yield error("a level needs at least one `LABEL: PATTERN` in its braces", level.span)
    seen: dict[str, Word] = {}
    for label in level.labels:
        yield from check_pattern(label.pattern)
        if label.pattern.text in seen:
            other = seen[label.pattern.text].text
            yield error(
                f"`{label.pattern.text}` has the label `{other}` already, and the first one counts; remove one",
                label.pattern.span,
            )
        seen.setdefault(label.pattern.text, label.name)
