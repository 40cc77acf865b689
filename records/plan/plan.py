"""Define the probe plan, which functions to record and how, as plain data.

The language lowers a spec to it; the recorder never sees the spec.

A plan is one JSON document. Expressions are nested lists, a small safe subset. The writer of the plan checks them, and
the reader compiles them once.
"""

import json
from typing import Any, Literal, TypeVar, get_args

from clew.records.errors import PlanError
from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.field_checks import FIELDS, Check, all_in

PLAN_VERSION = 2

Expr = list[Any]
"""One of
  ["const", value]                   str, int, float, bool or None
  ["name", parameter]                a parameter of the function; "result" and "exception" at finish; "this" is the first
                                     parameter of a method
  ["attr", expr, name]               read without calling user code: an instance's `__dict__`, a slot, or a field of a
                                     namedtuple or dataclass; a property only inside "unsafe"
  ["item", expr, expr]               exact dict, list, tuple, str and bytes only
  ["call", function, [exprs]]        function is one of len, id, str, int, type, repr (the last two of exact builtins only),
                                     without_literals (of SQL), with_names (of paths)
  ["method", expr, name, [exprs]]    startswith, endswith, lower, upper, strip of an exact str; get of an exact dict
  ["compare", op, left, right]       == != < <= > >= in, "not in", is, "is not"; exact builtin scalars only
  ["binary", op, left, right]        + - * / // %
  ["not", expr]  ["and", [exprs]]  ["or", [exprs]]
  ["tuple", [exprs]]
  ["unsafe", expr]                   the spec allows user code to run in it
"""

ActionKind = Literal[
    "send", "receive", "join", "define", "use", "release", "acquire", "handle", "request", "name", "inject", "extract",
    "payload", "entity", "take", "untake", "hold", "give",
]  # fmt: skip
When = Literal["start", "finish"]
Keep = Literal["oldest", "newest"]


class Target(NamedTuple):
    """Functions by name. Globs: `*` matches inside one dotted part, `**` across dots; see `clew.records.plan.match`."""

    module: str
    qualname: str
    root: str = ""
    """Only files below this folder that do not belong to an installed package; "" for any file."""
    is_async: bool = False
    """Only functions defined by `async def`."""
    decorators: tuple[str, ...] = ()
    """Only functions with a decorator of one of these names, as globs; see `clew.source.rule_filters`."""
    classes: tuple[str, ...] = ()
    """Only functions in subclasses of one of these, globs of `module:Class`."""
    itself: bool = False
    """Also functions in `classes` themselves."""


class Action(NamedTuple):
    """One additional record at a call, besides its enter and exit."""

    kind: ActionKind
    when: When
    channel: str = ""
    """send … acquire, handle: the namespace of keys. request, name: the request's name. payload: the value's name.
    entity: the entity's name. take … give: the resource's name. inject, extract: the header's or field's name, "" for
    `traceparent`."""
    key: Expr | None = None
    """send … acquire, take, give: the identity of the object; handle: the same, None for a scope without a
    cause. payload: the value. request, name: an expression for the name, if it is not `channel`."""
    carrier: Expr | None = None
    """inject, extract: the object that holds the headers."""
    each: bool = False
    """receive, join, use: the key expression gives a list, and every item is a separate cause. entity: the first value
    is a list, with an event for every item."""
    event: str = ""
    """entity: position, deletion or communication."""
    values: tuple[Expr, ...] = ()
    """entity: the event's arguments, each a scalar or an object (named by class and id). take: the number of slots.
    hold, give: what identifies the slot."""
    condition: Expr | None = None
    limit: int = 200
    """payload: maximum number of characters."""
    most: int = 0
    """payload, entity: maximum number of records in `per` seconds, for all functions of the rule together; 0 for no
    limit."""
    per: int = 1


class Rule(NamedTuple):
    """Functions that are call scopes, and the additional records at each of their calls."""

    target: Target
    excepts: tuple[Target, ...] = ()
    actions: tuple[Action, ...] = ()
    origin: str = ""
    """`file:line` of the spec, for messages."""
    types: tuple[tuple[str, str], ...] = ()
    """Parameters and their annotations, as `ast.unparse` writes them; functions that annotate one differently do not
    match."""


class EntityKind(NamedTuple):
    """Properties of the objects of a class that a spec declares as an entity."""

    name: str
    target: Target
    """The class: its module and its name."""
    unique: Expr | None = None
    """Expression of `this` that identifies an object; None for its id in the process."""
    contains: tuple[str, ...] = ()
    """Entities that it contains."""


class Redact(NamedTuple):
    """Values and texts to remove from all records."""

    names: tuple[str, ...] = ()
    """Case-insensitive globs of names of parameters, attributes and keys."""
    patterns: tuple[str, ...] = ()
    """Regular expressions that match texts."""


class Level(NamedTuple):
    """An aggregation level of the spec: the first target that matches a function gives its label."""

    name: str
    labels: tuple[tuple[str, Target], ...]


class LogCapture(NamedTuple):
    level: int = 0
    loggers: tuple[str, ...] = ()
    """Logger-name prefixes; empty for all."""
    ids: bool = False
    """Append the event's id to text lines."""
    most: int = 0
    """Maximum number of lines in `per` seconds; 0 for no limit."""
    per: int = 1


class Plan(NamedTuple):
    rules: tuple[Rule, ...] = ()
    adapters: tuple[str, ...] = ()
    """Names of adapters (`clew.instrument.adapters.MODULES`): threads, locks, callbacks, executors, queues, tasks,
    processes, http, sockets; and of libraries, such as redis_values."""
    logs: LogCapture | None = None
    levels: tuple[Level, ...] = ()
    budget: float | None = None
    """Maximum share of run time that recording costs, 0.03 for 3 %; None for no limit."""
    quota: int = 2 << 30
    """Bytes that a process may write, compressed or not, before `keep` applies."""
    spec: str = ""
    """Path of the spec, or a sentence that describes the default."""
    version: int = PLAN_VERSION
    sample: float | None = None
    """Share of request flows to record, each entirely or not at all, 0.1 for 10 %; None for all."""
    keep: Keep = "oldest"
    """Events to keep when the quota is reached: the oldest, and recording stops, or the newest, and the oldest are
    dropped."""
    entities: tuple[EntityKind, ...] = ()
    redact: Redact | None = None
    writes: bool = False
    """Record which objects the functions of the rules change; see `clew.records.format.states`."""


def samples_nothing(plan: Plan) -> bool:
    """Return whether sampling is requested but no rule marks the start of a flow."""
    if plan.sample is None or plan.sample >= 1:
        return False
    return not any(action.kind == "request" for rule in plan.rules for action in rule.actions)


def dump(plan: Plan) -> str:
    return json.dumps(plain(plan), indent=1, ensure_ascii=False)


def plain(value: Any) -> Any:
    """Convert parts of a plan to JSON types, with the names of their fields."""
    if hasattr(value, "_asdict"):
        return {name: plain(field) for name, field in value._asdict().items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def load(text: str, where: str) -> Plan:
    """Load the plan in a JSON text. Raises `PlanError` naming `where` when it is damaged or of a newer version."""
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise TypeError("it is not an object")
        version = data.get("version", 0)
        if isinstance(version, int) and version > PLAN_VERSION:
            raise PlanError(
                f"{where}: the plan has version {version}, but this clew reads up to {PLAN_VERSION}; upgrade clew"
            )
        return _plan(data)
    except PlanError:
        raise
    except RecursionError:
        raise PlanError(f"{where}: not a probe plan (nested too deeply); compile the spec again") from None
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise PlanError(f"{where}: not a probe plan ({error}); compile the spec again") from None


def _plan(data: dict[str, Any]) -> Plan:
    logs = data["logs"]
    return _checked(Plan(
        rules=tuple(
            _checked(Rule(
                target=target_from(rule["target"]),
                excepts=tuple(map(target_from, rule["excepts"])),
                actions=tuple(map(_action, rule["actions"])),
                origin=rule["origin"],
                types=tuple((name, annotation) for name, annotation in rule.get("types", ())),
            ))
            for rule in data["rules"]
        ),
        adapters=tuple(data["adapters"]),
        logs=None if logs is None else _checked(LogCapture(**{**logs, "loggers": tuple(logs["loggers"])})),
        levels=tuple(
            _checked(Level(level["name"], tuple((label, target_from(target)) for label, target in level["labels"])))
            for level in data["levels"]
        ),
        budget=data["budget"],
        quota=int(data["quota"]),
        spec=data["spec"],
        sample=data.get("sample"),
        version=data["version"],
        keep="newest" if data.get("keep") == "newest" else "oldest",
        entities=tuple(map(_entity, data.get("entities", ()))),
        redact=_redact(data.get("redact")),
        writes=bool(data.get("writes", False)),
    ))  # fmt: skip


def _entity(data: dict[str, Any]) -> EntityKind:
    return _checked(EntityKind(data["name"], target_from(data["target"]), data["unique"], tuple(data["contains"])))


def _redact(data: dict[str, Any] | None) -> Redact | None:
    return _checked(Redact(tuple(data["names"]), tuple(data["patterns"]))) if data else None


def target_from(data: dict[str, Any]) -> Target:
    """Load a target from JSON. Raises `TypeError` and `ValueError` when it is damaged."""
    lists = {name: tuple(data.get(name, ())) for name in ("decorators", "classes")}
    return _checked(Target(**{**data, **lists}))


def _action(data: dict[str, Any]) -> Action:
    if data["kind"] not in get_args(ActionKind):
        raise ValueError(f"unknown action {data['kind']!r}")
    return _checked(Action(**{**data, "values": tuple(data["values"])}))


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < float("inf")


def _is_expression(value: object) -> bool:
    return type(value) is list and bool(value) and _is_string(value[0])


def _is_string(value: object) -> bool:
    # Paths may contain lone surrogates.
    return type(value) is str


_FIELDS: dict[object, Check] = FIELDS | {
    str: ("a string", _is_string),
    When: ("start or finish", lambda value: value in get_args(When)),
    float | None: ("a share or null", lambda value: value is None or _is_share(value)),
    Expr | None: ("an expression or null", lambda value: value is None or _is_expression(value)),
    tuple[str, ...]: ("a list of strings", all_in(tuple, _is_string)),
    tuple[Expr, ...]: ("a list of expressions", all_in(tuple, _is_expression)),
    tuple[tuple[str, str], ...]: ("a list of pairs of strings", all_in(tuple, all_in(tuple, _is_string))),
    tuple[tuple[str, Target], ...]: ("a list of labels", all_in(tuple, lambda label: _is_string(label[0]))),
}
"""Checks by a field's annotation; parts of a plan that are fields of others are not included."""
_Part = TypeVar("_Part", bound=tuple[Any, ...])


def _checked(part: _Part) -> _Part:
    """Check the fields of a part of a plan; its nested parts were checked before. Raises `ValueError`."""
    for (name, known_as), value in zip(type(part).__annotations__.items(), part, strict=True):
        what, fits = _FIELDS.get(known_as, ("", None))
        if fits and not fits(value):
            raise ValueError(f"{name!r} of a {type(part).__name__} is not {what}")
    return part
