"""What can be wrong with a spec that has been read, found without looking at the program: words, numbers, clauses,
contradictions, channels with one end. Invariant: a tree without errors here can be lowered."""

from __future__ import annotations

import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator

from clew.esl import expression, packs
from clew.esl.ast import (
    Act,
    Broken,
    Budget,
    Clause,
    Const,
    Default,
    Entity,
    Expression,
    Include,
    LevelMap,
    Logs,
    Node,
    Pattern,
    Quota,
    Redact,
    Sample,
    Scope,
    Spec,
    Word,
)
from clew.esl.clauses import check_pattern, check_rate
from clew.esl.entity_checker import check_entities
from clew.esl.idle import idle_packs
from clew.esl.meaning import fits, kind_of, parameters_of
from clew.esl.problem import EslProblem, did_you_mean, error, listing, warning
from clew.esl.span import Span
from clew.esl.words import BUILT_IN_LEVELS, CLAUSES, EACH, LOG_LEVELS, NAMING, UNITS, WHOLE_CALLS
from clew.records.event import MAX_TEXT
from clew.records.header import CHUNK_SIZE

SMALLEST_QUOTA = 2 * CHUNK_SIZE
_PAIRS = {
    "send": (("receive", "join", "handle"), "nothing receives it", "receive"),
    "receive": (("send",), "nothing sends it", "send"),
    "join": (("send",), "nothing sends it", "send"),
    "handle": (("send",), "nothing sends it", "send"),
    "release": (("acquire",), "nothing acquires it", "acquire"),
    "acquire": (("release",), "nothing releases it", "release"),
    "define": (("use",), "nothing uses it", "use"),
    "use": (("define",), "nothing defines it", "define"),
}


_NEEDED = {
    "key": "what identifies the object",
    "value": "what to record",
    "as": "what the request is called, in brackets where it is a value",
}


def has_wildcard(glob: str) -> bool:
    return "*" in glob or "?" in glob


def last_name(pattern: Pattern) -> str:
    """The function's own name, "" when the pattern can mean more than one function."""
    name = (pattern.qualname or "*").rpartition(".")[2]
    return "" if has_wildcard(name) else name


def channel_of(act: Act) -> str:
    """The name after `as`, else the function's; "" when there is neither."""
    clause = act.clause("as")
    return clause.name.text if clause is not None and clause.name is not None else last_name(act.pattern)


def name_of(act: Act) -> Expression | None:
    """The value that a request is named by, if it is named by one."""
    clause = act.clause("as")
    return clause.expression if clause is not None else None


def moment_of(act: Act) -> str:
    return "finish" if act.has("finish") else "start"


def check_tree(spec: Spec, annotated: Callable[[], Collection[str]] = frozenset) -> Iterator[EslProblem]:
    """`annotated` gives the channels that the program's own annotations use; it is called only if it matters."""
    for statement in spec.statements:
        match statement:
            case Include():
                yield from _include(statement)
            case Scope():
                for pattern in (*statement.patterns, *statement.excepts):
                    yield from check_pattern(pattern)
            case Act():
                yield from _act(statement)
            case Logs():
                yield from _logs(statement)
            case Redact():
                yield from _redact(statement)
            case Default():
                yield from _default(statement)
            case Budget():
                yield from _budget(statement)
            case Sample():
                yield from _sample(statement)
            case Quota():
                yield from _quota(statement)
            case LevelMap():
                yield from _level(statement)
    yield from check_entities(spec)
    yield from _repeated(spec)
    yield from idle_packs(spec)
    yield from _one_ended(spec, annotated)


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


# Statements together.


def _repeated(spec: Spec) -> Iterator[EslProblem]:
    """What is said twice (a warning, if it is the same) or in two ways (an error)."""
    only: dict[type[Node], Node] = {}
    seen: dict[object, Span] = {}
    requests: dict[str, tuple[str, Span]] = {}
    classes: dict[str, tuple[str, Span]] = {}
    for statement in spec.statements:
        if isinstance(statement, Budget | Quota | Sample | Logs):
            first = only.setdefault(type(statement), statement)
            if first is not statement:
                word = type(statement).__name__.lower()
                yield error(f"`{word}` is set in line {first.span.line} already; keep one of them", statement.span)
            continue
        facts: list[tuple[object, str, Span]] = []
        if isinstance(statement, Include):
            facts = [(("include", word.text), f"`{word.text}` is included", word.span) for word in statement.packs]
        elif isinstance(statement, Scope):
            facts = [
                (("scope", pattern, statement.excepts), "this scope is declared", pattern.span)
                for pattern in statement.patterns
            ]
        elif isinstance(statement, Act):
            facts = [(statement, "this is said", statement.span)]
            if statement.verb.text == "request" and channel_of(statement) and not name_of(statement):
                name, span = requests.setdefault(statement.pattern.full_text, (channel_of(statement), statement.span))
                if name != channel_of(statement):
                    yield error(
                        f"the same functions are the request `{name}` in line {span.line}; keep one name",
                        statement.span,
                    )
        elif isinstance(statement, Redact):
            kind = "matching" if statement.matching else "name"
            facts = [(("redact", kind, word.text), "this is redacted", word.span) for word in statement.texts]
        elif isinstance(statement, Default):
            first_span = seen.setdefault(("parameter", statement.name.text), statement.span)
            if first_span is not statement.span:
                message = (
                    f"the parameter `{statement.name.text}` is there in line {first_span.line} already; remove one"
                )
                yield error(message, statement.name.span)
        elif isinstance(statement, Entity):
            target, span = classes.setdefault(statement.name.text, (statement.target.text, statement.span))
            if target != statement.target.text:
                yield error(
                    f"`{statement.name.text}` is the class `{target}` in line {span.line}; choose another name",
                    statement.name.span,
                )
            else:
                facts = [((statement.target.text, member), "this is said", member.span) for member in statement.members]
        elif isinstance(statement, LevelMap):
            first_span = seen.setdefault(("level", statement.name.text), statement.span)
            if first_span is not statement.span:
                message = (
                    f"the level `{statement.name.text}` is defined in line {first_span.line} already; merge the two"
                )
                yield error(message, statement.name.span)
        for fact, what, span in facts:
            first_span = seen.setdefault(fact, span)
            if first_span is not span:
                yield warning(f"{what} in line {first_span.line} already; remove one", span, remove=True)


def _has_partner(act: Act) -> bool:
    """Is it one end of an edge? Handling something without a key is caused by nothing that is declared."""
    has_key = act.verb.text != "handle" or act.clause("key") is not None
    return act.verb.text in _PAIRS and bool(channel_of(act)) and has_key


def _one_ended(spec: Spec, annotated: Callable[[], Collection[str]]) -> Iterator[EslProblem]:
    if any(isinstance(statement, Broken) for statement in spec.statements):
        return  # the other end may be what could not be read
    ends: dict[str, list[Act]] = defaultdict(list)
    for statement in spec.statements:
        if isinstance(statement, Act) and _has_partner(statement):
            ends[channel_of(statement)].append(statement)
    by_verb: dict[str, list[str]] = defaultdict(list)
    for name, group in ends.items():
        for verb in {act.verb.text for act in group}:
            by_verb[verb].append(name)
    for channel, acts in ends.items():
        verbs = {act.verb.text for act in acts}
        reported: set[str] = set()
        for act in acts:
            verb = act.verb.text
            partners, lack, remedy = _PAIRS[verb]
            if verbs.isdisjoint(partners) and verb not in reported and channel not in annotated():
                reported.add(verb)
                # The channel itself is not among them: nothing is at its other end.
                others = dict.fromkeys(name for partner in partners for name in by_verb[partner])
                hint, near = did_you_mean(channel, others)
                clause = act.clause("as")
                span = clause.name.span if clause is not None and clause.name is not None else act.pattern.span
                proposal = hint or f"; add a `{remedy} … as {channel}`"
                fix = near if clause is not None else ""
                yield warning(f"`{channel}` makes no edge: {lack}{proposal}", span, fix)
