"""Lower a checked spec to the probe plan. Every scope pattern and every action statement becomes one rule; the recorder
merges the actions of all rules that match a function. `origin` is the line that a rule comes from."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import cast

from clew.esl.checker.channels import channel_of, has_wildcard, name_of
from clew.esl.checker.entities import blocks_of, entities_in, watched_in
from clew.esl.checker.spec import level_number, logger_prefix, moment_of, quota_bytes
from clew.esl.lower import expressions
from clew.esl.lower.resolve import Value, mean, values_given
from clew.esl.packs import registry
from clew.esl.syntax.ast import (
    Act,
    Budget,
    Clause,
    Entity,
    EntityEvent,
    Include,
    LevelMap,
    Logs,
    NoOutput,
    Part,
    Pattern,
    Quota,
    RecordWrites,
    Redact,
    Sample,
    Scope,
    Spec,
    Statement,
    Unit,
)
from clew.esl.syntax.keywords import RATES
from clew.esl.syntax.parser import parse
from clew.esl.syntax.span import Span
from clew.records.plan import plan as plans
from clew.records.plan.default_plan import FACTS, OUTPUTS, WARNING
from clew.records.plan.match import plain_qualname
from clew.records.plan.plan import Action, ActionKind, EntityKind, Level, LogCapture, Plan, Rule, Target, When

DEFAULT_LIMIT = 200


@dataclass(frozen=True, eq=False, slots=True)
class UnplacedRule:
    """A rule independent of the position of its statement. The same statement always gives the same object, so that
    results can be cached on it."""

    rule: Rule
    """The rule without an origin."""
    pattern: Pattern
    """The pattern as written; for an entity's line, class and method combined, with the method's span."""
    node: Scope | Act | EntityEvent
    line: int
    """Line for the origin."""


@dataclass(frozen=True, slots=True)
class LoweredRule:
    """A rule of the plan with its source."""

    rule: Rule
    meant: UnplacedRule
    part: Part

    @property
    def pattern(self) -> Pattern:
        return self.part.here(self.meant.pattern)

    @property
    def span(self) -> Span:
        """Return the span of the statement, or of an entity's line."""
        return self.part.here(self.meant.node.span)

    @property
    def title(self) -> str:
        """Return the words of the statement before the pattern: `send finish`, `when start`."""
        match self.meant.node:
            case Scope():
                return "scope"
            case Act() as act:
                return " ".join((act.verb.text, *(word.text for word in act.modifiers)))
            case EntityEvent() as event:
                return f"when {event.moment.text}"


@dataclass(frozen=True)
class Lowered:
    plan: Plan
    rules: tuple[LoweredRule, ...]
    """Rules of the spec itself, without those of its packs."""


def lower(spec: Spec, *, path: str, root: str) -> Lowered:
    """Lower a spec. `path` is the prefix of origins; patterns that begin with `*` are bound to the folder `root`.
    Broken statements are skipped."""
    return _Lowering(path, root).run(spec)


def target_of(pattern: Pattern, root: str = "") -> Target:
    target = Target(
        pattern.module, plain_qualname(pattern.qualname or "**"), root if has_wildcard(pattern.module[:1]) else ""
    )
    for each in pattern.filters:
        names = tuple(name.text for name in each.names)
        match each.word.text:
            case "async":
                target = target._replace(is_async=True)
            case "decorated by":
                target = target._replace(decorators=names)
            case word:
                target = target._replace(classes=tuple(map(plain_qualname, names)), itself=word == "in")
    return target


def method_pattern(entity: Entity, event: EntityEvent) -> Pattern:
    """Return the pattern of an event's method in its entity's class, with the filters of both."""
    name = f"{entity.target.qualname}.{event.method.module}"
    filters = {each.word.text: each for each in (*entity.target.filters, *event.method.filters)}
    return Pattern(event.method.span, entity.target.module, name, tuple(filters.values()))


@functools.lru_cache(maxsize=8192)
def _rules_of(unit: Unit, blocks: tuple[Unit, ...], root: str) -> tuple[UnplacedRule, ...]:
    """Return the rules of a statement; `blocks` are all blocks of the entity, if it is one. Cached because an editor
    checks the whole file at every keystroke."""
    match unit.statement:
        case Scope() as scope:
            # An excluding pattern is never bound to the project: it can name anything.
            excepts = tuple(target_of(pattern) for pattern in scope.excepts)
            return tuple(
                UnplacedRule(Rule(target_of(each, root), excepts, (), ""), each, scope, each.span.line)
                for each in scope.patterns
            )
        case Act() as act:
            rule = Rule(target_of(act.pattern, root), (), _actions(act, unit.text), "")
            return (UnplacedRule(rule, act.pattern, act, act.span.line),)
        case Entity() as entity:
            return tuple(
                _entity_rule(entity, event, actions, root) for event, actions in _events(entity, entities_in(blocks))
            )
    return ()


def _entity_rule(entity: Entity, event: EntityEvent, actions: tuple[Action, ...], root: str) -> UnplacedRule:
    types = tuple((each.name.text, each.type.text) for each in event.parameters if each.type is not None)
    pattern = method_pattern(entity, event)
    return UnplacedRule(Rule(target_of(pattern, root), (), actions, "", types), pattern, event, event.span.line)


class _Lowering:
    def __init__(self, path: str, root: str) -> None:
        self.path = path
        self.root = root
        self.rules: list[LoweredRule] = []
        self.pack_rules: list[Rule] = []
        self.adapters: list[str] = []
        self.levels: list[Level] = []
        self.logs: LogCapture | None = None
        self.budget: float | None = None
        self.sample: float | None = None
        self.quota: Quota | None = None
        self.packs: set[str] = set()
        self.entities: dict[str, EntityKind] = {}
        self.names: list[str] = []
        self.patterns: list[str] = []

    def run(self, spec: Spec) -> Lowered:
        """Return the plan with what every plan records unless the spec says otherwise: exceptions, output lines, warnings."""
        lowered = self.lower(spec)
        plan = lowered.plan
        silent = any(isinstance(part.unit.statement, NoOutput) for part in spec.parts)
        facts = (name for name in FACTS if name != OUTPUTS or not silent)
        adapters = tuple(dict.fromkeys((*plan.adapters, *facts)))
        writes = any(isinstance(part.unit.statement, RecordWrites) for part in spec.parts)
        plan = plan._replace(adapters=adapters, logs=plan.logs or LogCapture(WARNING), writes=writes)
        return replace(lowered, plan=plan)

    def lower(self, spec: Spec) -> Lowered:
        """Return the plan of the spec's own statements and packs."""
        blocks = blocks_of(spec)
        for part in spec.parts:
            statement = part.unit.statement
            own = blocks[statement.name.text] if isinstance(statement, Entity) else ()
            for meant in _rules_of(part.unit, own, self.root):
                rule = meant.rule._replace(origin=f"{self.path}:{part.lines + meant.line}")
                self.rules.append(LoweredRule(rule, meant, part))
            self._statement(statement)
        plan = Plan(
            rules=(*self.pack_rules, *(lowered.rule for lowered in self.rules)),
            adapters=tuple(dict.fromkeys(self.adapters)),
            logs=self.logs,
            levels=tuple(self.levels),
            budget=self.budget,
            sample=self.sample,
            spec=self.path,
            entities=tuple(self.entities.values()),
        )
        if self.names or self.patterns:
            plan = plan._replace(redact=plans.Redact(tuple(self.names), tuple(self.patterns)))
        if self.quota is not None:
            plan = plan._replace(quota=quota_bytes(self.quota), keep="newest" if self.quota.newest else "oldest")
        return Lowered(plan, tuple(self.rules))

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Include():
                for word in statement.packs:
                    self._include(word.text, values_given(statement, word))
            case Entity():
                self._kind(statement)
            case Redact():
                texts = [word.text for word in statement.texts]
                (self.patterns if statement.matching else self.names).extend(texts)
            case Logs():
                level = level_number(statement.levels[0]) if statement.levels else 0
                loggers = tuple(prefix for pattern in statement.loggers if (prefix := logger_prefix(pattern)))
                everything = len(loggers) < len(statement.loggers)
                self.logs = LogCapture(level or 0, () if everything else loggers, statement.ids)
                for clause in statement.rates:
                    most, per = _rate(clause)
                    self.logs = self.logs._replace(most=most, per=per)
            case Budget():
                self.budget = round(float(statement.number.text.replace("_", "")) / 100, 9)
            case Sample():
                self.sample = round(float(statement.number.text.replace("_", "")) / 100, 9)
            case Quota():
                self.quota = statement
            case LevelMap():
                labels = tuple((label.name.text, target_of(label.pattern)) for label in statement.labels)
                self.levels.append(Level(statement.name.text, labels))

    def _include(self, name: str, values: dict[str, Value]) -> None:
        adapter = registry.adapter_of(name)
        if adapter is not None:
            self.adapters.append(adapter)
        elif name not in self.packs and name in registry.shipped():
            self.packs.add(name)
            text = registry.shipped()[name]
            inner = _Lowering(f"{name}.esl", self.root)
            inner.packs = self.packs
            plan = inner.lower(mean(parse(text).tree, values).spec).plan
            self.adapters += plan.adapters
            self.pack_rules += plan.rules
            self.levels += plan.levels
            self.entities |= inner.entities
            self.names += inner.names
            self.patterns += inner.patterns

    def _kind(self, entity: Entity) -> None:
        """Add the properties that a block gives to the entity's objects; later blocks extend earlier ones."""
        name = entity.name.text
        known = self.entities.get(name) or EntityKind(name, target_of(entity.target, self.root))
        for clause in entity.clauses:
            if clause.word.text == "unique" and clause.expression is not None:
                known = known._replace(unique=expressions.lower(clause.expression))
            elif clause.name is not None:
                known = known._replace(contains=tuple(dict.fromkeys((*known.contains, clause.name.text))))
        self.entities[name] = known


def _actions(act: Act, text: str) -> tuple[Action, ...]:
    if act.verb.text != "resource":
        return (_action(act, text),)

    def value(word: str, otherwise: plans.Expr) -> plans.Expr:
        clause = act.clause(word)
        return expressions.lower(clause.expression) if clause and clause.expression else otherwise

    name, key = channel_of(act), value("key", ["name", expressions.THIS])
    item, capacity = value("item", ["const", None]), value("capacity", ["const", None])
    if act.has("returned"):
        return (Action("give", "start", name, key, values=(item,)),)
    return (
        Action("take", "start", name, key, values=(capacity,)),
        Action("hold", "finish", name, values=(item,)),
        Action("untake", "finish", name, ["name", "exception"]),
    )


def _action(act: Act, text: str) -> Action:
    verb = cast(ActionKind, act.verb.text)  # the grammar allows no other word
    key, into, source, value = (act.clause(word) for word in ("key", "into", "from", "value"))
    content = key or value
    carrier = into or source
    condition, limit, rate = act.clause("when"), act.clause("limit"), act.clause("at most")
    action = Action(
        kind=verb,
        when=cast(When, moment_of(act)),
        channel=_name(act, text),
        key=expressions.lower(content.expression) if content and content.expression else None,
        carrier=expressions.lower(carrier.expression) if carrier and carrier.expression else None,
        each=act.has("each"),
        condition=expressions.lower(condition.expression) if condition and condition.expression else None,
        limit=int(limit.number.text) if limit and limit.number else DEFAULT_LIMIT,
    )
    if name := name_of(act):
        action = action._replace(key=expressions.lower(name))
    if rate:
        most, per = _rate(rate)
        action = action._replace(most=most, per=per)
    return action


def _name(act: Act, text: str) -> str:
    """Return the action's channel: the name after `as`, or its default, in the text of its block."""
    name, value = act.clause("as"), act.clause("value")
    if act.verb.text in ("inject", "extract", "name"):
        return name.name.text if name and name.name else ""
    if act.verb.text != "payload":
        return channel_of(act) or (act.pattern.text if name_of(act) else "")
    if name is not None and name.name is not None:
        return name.name.text
    span = value.expression.span if value is not None and value.expression is not None else act.span
    return " ".join(text[span.start : span.end].split())


def _events(entity: Entity, blocks: list[Entity]) -> Iterator[tuple[EntityEvent, tuple[Action, ...]]]:
    """Yield each event with its actions: the event itself, the positions of contained objects, and each watched value
    as a payload named `Entity.watch`."""
    name = entity.name.text
    watched = {word: member.value for word, member in watched_in(blocks).items()}
    held = [each for block in blocks for each in block.clauses if each.word.text == "contains"]
    this = ["name", expressions.THIS]
    for event in entity.members:
        if not isinstance(event, EntityEvent):
            continue
        parameters = {parameter.name.text for parameter in event.parameters}
        names = {word: value for word, value in watched.items() if word not in parameters}
        common = Action(
            "entity",
            cast(When, event.moment.text),
            channel=name,
            condition=expressions.lower(event.condition, names) if event.condition is not None else None,
        )
        if event.rate is not None:
            most, per = _rate(event.rate)
            common = common._replace(most=most, per=per)
        values = tuple(expressions.lower(value, names) for value in event.values)
        actions = [common._replace(event=event.event.text, values=values)]
        # The contents of a deleted object have no position in it any more.
        actions += [
            common._replace(event="position", values=(expressions.lower(each.expression), this), each=True)
            for each in held
            if each.expression is not None and event.event.text != "deletion"
        ]
        actions += [
            common._replace(kind="payload", channel=f"{name}.{word}", key=expressions.lower(value))
            for word, value in watched.items()
        ]
        yield event, tuple(actions)


def _rate(clause: Clause) -> tuple[int, int]:
    """Return count and seconds of a valid rate clause."""
    number, unit = clause.number, clause.unit
    return (int(number.text), RATES[unit.text]) if number and unit else (0, 1)
