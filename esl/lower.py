"""Lowers a checked spec to the probe plan. Every scope pattern and every action statement becomes one rule; the recorder
merges the actions of all rules that match a function. `origin` says which line a rule comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from clew.esl import expression, packs
from clew.esl.ast import (
    Act,
    Budget,
    Entity,
    EntityEvent,
    Include,
    LevelMap,
    Logs,
    Node,
    Pattern,
    Quota,
    Sample,
    Scope,
    Spec,
    Statement,
    Watch,
)
from clew.esl.checker import channel_of, has_wildcard, level_number, logger_prefix, moment_of, quota_bytes
from clew.esl.parser import parse
from clew.records.match import plain_qualname
from clew.records.plan import Action, ActionKind, Level, LogCapture, Plan, Rule, Target, When

DEFAULT_LIMIT = 200


@dataclass(frozen=True)
class LoweredRule:
    """A rule of the plan with what it was made from."""

    rule: Rule
    pattern: Pattern
    """What the user wrote; for an entity's line, the class and the method together, with the method's span."""
    node: Scope | Act | EntityEvent

    @property
    def title(self) -> str:
        """The statement's words before the pattern: `send finish`, `when start`."""
        match self.node:
            case Scope():
                return "scope"
            case Act():
                return " ".join((self.node.verb.text, *(word.text for word in self.node.modifiers)))
            case EntityEvent():
                return f"when {self.node.moment.text}"


@dataclass(frozen=True)
class Lowered:
    plan: Plan
    rules: tuple[LoweredRule, ...]
    """Those of the spec itself, without its packs'."""


def lower(spec: Spec, text: str, *, path: str, root: str) -> Lowered:
    """`text` is what the tree was read from, `path` what origins begin with, `root` the folder that patterns which begin
    with `*` are bound to. Broken statements are left out."""
    return _Lowering(text, path, root).run(spec)


def target_of(pattern: Pattern, root: str = "") -> Target:
    return Target(
        pattern.module, plain_qualname(pattern.qualname or "**"), root if has_wildcard(pattern.module[:1]) else ""
    )


def method_pattern(entity: Entity, event: EntityEvent) -> Pattern:
    return Pattern(event.method.span, entity.target.module, f"{entity.target.qualname}.{event.method.module}")


class _Lowering:
    def __init__(self, text: str, path: str, root: str) -> None:
        self.text = text
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

    def run(self, spec: Spec) -> Lowered:
        for statement in spec.statements:
            self._statement(statement)
        plan = Plan(
            rules=(*self.pack_rules, *(lowered.rule for lowered in self.rules)),
            adapters=tuple(dict.fromkeys(self.adapters)),
            logs=self.logs,
            levels=tuple(self.levels),
            budget=self.budget,
            sample=self.sample,
            spec=self.path,
        )
        if self.quota is not None:
            plan = plan._replace(quota=quota_bytes(self.quota), keep="newest" if self.quota.newest else "oldest")
        return Lowered(plan, tuple(self.rules))

    def _statement(self, statement: Statement) -> None:
        match statement:
            case Include():
                for word in statement.packs:
                    self._include(word.text)
            case Scope():
                # A pattern to leave out is never bound to the project: it may name anything.
                excepts = tuple(target_of(pattern) for pattern in statement.excepts)
                for pattern in statement.patterns:
                    self._rule(pattern, statement, pattern, (), excepts)
            case Act():
                self._rule(statement.pattern, statement, statement, (self._action(statement),))
            case Entity():
                for event, actions in self._entity(statement):
                    self._rule(method_pattern(statement, event), event, event, actions)
            case Logs():
                level = level_number(statement.levels[0]) if statement.levels else 0
                loggers = tuple(prefix for pattern in statement.loggers if (prefix := logger_prefix(pattern)))
                everything = len(loggers) < len(statement.loggers)
                self.logs = LogCapture(level or 0, () if everything else loggers, statement.ids)
            case Budget():
                self.budget = round(float(statement.number.text.replace("_", "")) / 100, 9)
            case Sample():
                self.sample = round(float(statement.number.text.replace("_", "")) / 100, 9)
            case Quota():
                self.quota = statement
            case LevelMap():
                labels = tuple((label.name.text, target_of(label.pattern)) for label in statement.labels)
                self.levels.append(Level(statement.name.text, labels))

    def _rule(
        self,
        pattern: Pattern,
        node: Scope | Act | EntityEvent,
        place: Node,
        actions: tuple[Action, ...],
        excepts: tuple[Target, ...] = (),
    ) -> None:
        rule = Rule(target_of(pattern, self.root), excepts, actions, f"{self.path}:{place.span.line}")
        self.rules.append(LoweredRule(rule, pattern, node))

    def _include(self, name: str) -> None:
        if name in packs.ADAPTERS:
            self.adapters.append(packs.ADAPTERS[name])
        elif name not in self.packs and name in packs.shipped():
            self.packs.add(name)
            text = packs.shipped()[name]
            inner = _Lowering(text, f"{name}.esl", self.root)
            inner.packs = self.packs
            plan = inner.run(parse(text).tree).plan
            self.adapters += plan.adapters
            self.pack_rules += plan.rules
            self.levels += plan.levels

    def _action(self, act: Act) -> Action:
        verb = cast(ActionKind, act.verb.text)  # the grammar lets no other word through
        key, into, source, value = (act.clause(word) for word in ("key", "into", "from", "value"))
        content = key or value
        carrier = into or source
        condition, limit = act.clause("when"), act.clause("limit")
        return Action(
            kind=verb,
            when=cast(When, moment_of(act)),
            channel=self._payload_name(act) if verb == "payload" else "" if carrier else channel_of(act),
            key=expression.lower(content.expression) if content and content.expression else None,
            carrier=expression.lower(carrier.expression) if carrier and carrier.expression else None,
            each=act.has("each"),
            condition=expression.lower(condition.expression) if condition and condition.expression else None,
            limit=int(limit.number.text) if limit and limit.number else DEFAULT_LIMIT,
        )

    def _payload_name(self, act: Act) -> str:
        """The name after `as`, else the value as it is written."""
        name, value = act.clause("as"), act.clause("value")
        if name is not None and name.name is not None:
            return name.name.text
        span = value.expression.span if value is not None and value.expression is not None else act.span
        return " ".join(self.text[span.start : span.end].split())

    def _entity(self, entity: Entity) -> Iterator[tuple[EntityEvent, tuple[Action, ...]]]:
        """Each event with its actions: the event itself, and each watched value as a payload named `Entity.watch`."""
        watched = {member.name.text: member.value for member in entity.members if isinstance(member, Watch)}
        for event in entity.members:
            if not isinstance(event, EntityEvent):
                continue
            when = cast(When, event.moment.text)
            parameters = {parameter.name.text for parameter in event.parameters}
            names = {name: value for name, value in watched.items() if name not in parameters}
            values = tuple(expression.lower(value, names) for value in event.values)
            actions = [Action("entity", when, channel=entity.name.text, event=event.event.text, values=values)]
            actions += [
                Action("payload", when, channel=f"{entity.name.text}.{name}", key=expression.lower(value))
                for name, value in watched.items()
            ]
            yield event, tuple(actions)
