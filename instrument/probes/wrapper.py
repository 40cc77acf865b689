"""Records functions that have no bytecode: those of modules written in C, and methods of their classes.

A rule means them when it names their module in full (`zlib:compress`, `_json:*`): a wide rule is about code that can be read.
One that a module written in Python took from there (`json.decoder:scanstring`) is meant when its own name is written out, too.
They are wrapped, by wrapt, right after their module is imported, so who imports them later gets the wrapper; what C code
calls without looking it up in the module is not seen.

Invariant: a wrapper passes for what it wraps (`isinstance`, `inspect`, `pickle`, `copy`, `repr`, equality), and no frame of
ours stands in a traceback. What cannot be changed is left as it is, and a note in the trace says so.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import BuiltinFunctionType, ClassMethodDescriptorType, MethodDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

from clew.instrument.adapters.patching import when_imported
from clew.instrument.probes import sites
from clew.instrument.probes.actions import compile_actions
from clew.instrument.probes.bytecode import Call, Parameter, Probes
from clew.instrument.probes.loaded import loaded_namespaces
from clew.instrument.probes.quiet import Bracket
from clew.instrument.recorder.select import core
from clew.records.compiled import is_compiled
from clew.records.event import Kind
from clew.records.match import is_wide, may_wrap, rule_matches
from clew.records.plan import Action, Plan, Rule

if TYPE_CHECKING:
    import inspect

try:
    from clew.instrument.probes._entry import put_method
except ImportError:
    put_method = setattr  # which classes that cannot be changed refuse

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
"""Flags of a class: made at run time; not to be changed."""
_METHODS = (MethodDescriptorType, ClassMethodDescriptorType)

Numbered = tuple[int, Rule]
Found = tuple[str, Any, list[Numbered]]
"""Name, function, and the rules that mean it."""
_told: set[tuple[str, str]] = set()
"""Classes that a note has said of that they cannot be changed."""


def install(plan: Plan) -> None:
    """Wraps what `plan` names, now or as soon as it is imported."""
    rules: dict[str, list[Numbered]] = {}
    for index, rule in enumerate(plan.rules):
        module = rule.target.module
        if may_wrap(rule) and (not is_wide(rule.target.qualname) or is_compiled(module)):
            rules.setdefault(module, []).append((index, rule))
    if any(map(is_compiled, rules)):
        # Now, for it imports modules that may be among these.
        importlib.import_module("clew.instrument.probes.wrapped")
    for name, numbered in rules.items():
        if name in sys.builtin_module_names:
            importlib.import_module(name)  # part of the interpreter, there is no loader to wait at
        when_imported(name, partial(_wrap_module, numbered))


def _wrap_module(rules: Sequence[Numbered], module: ModuleType) -> None:
    functions = _functions(rules, module)
    methods = [(owner, *found) for name, owner in _classes(module) for found in _methods(rules, module, name, owner)]
    replaced: dict[int, Any] = {}
    for name, value, chosen in functions:
        made = _recorded(value, module.__name__, name, chosen)
        setattr(module, name, made)
        replaced[id(value)] = made
    _replace_copies(replaced)
    for owner, name, value, chosen in methods:
        put = put_method if owner.__flags__ & _IMMUTABLE else setattr
        put(owner, name, _recorded(value, module.__name__, f"{owner.__name__}.{name}", chosen))


def _replace_copies(replaced: Mapping[int, Any]) -> None:
    """In the modules that took a function by its name before it was wrapped."""
    for module, namespace in loaded_namespaces():
        if not module.startswith("clew."):
            for name, value in list(namespace.items()):
                if type(value) is BuiltinFunctionType and id(value) in replaced:
                    namespace[name] = replaced[id(value)]


def _functions(rules: Sequence[Numbered], module: ModuleType) -> list[Found]:
    found = []
    for name, value in list(vars(module).items()):
        if type(value) is BuiltinFunctionType:
            chosen = [(index, rule) for index, rule in rules if _means(rule, module, name, value)]
            if chosen:
                found.append((name, value, chosen))
    return found


def _means(rule: Rule, module: ModuleType, name: str, value: Any) -> bool:
    """A function that a module took from another is meant by its name alone."""
    own = value.__module__ == module.__name__ or value.__self__ is module or not is_wide(rule.target.qualname)
    return own and rule_matches(rule, module.__name__, name, "")


def _classes(module: ModuleType) -> list[tuple[str, type]]:
    return [
        (name, value)
        for name, value in vars(module).items()
        # `_datetime` is the C half of `datetime`, and says so.
        if isinstance(value, type) and value.__module__ in (module.__name__, module.__name__.lstrip("_"))
    ]


def _methods(rules: Sequence[Numbered], module: ModuleType, name: str, owner: type) -> list[Found]:
    """The methods of a class that are meant and can be replaced; a note for one that cannot."""
    found = []
    for method, value in list(vars(owner).items()):
        if type(value) not in _METHODS or (method.startswith("__") and method.endswith("__")):
            continue
        qualname = f"{name}.{method}"
        chosen = [(index, rule) for index, rule in rules if rule_matches(rule, module.__name__, qualname, "")]
        if not chosen:
            continue
        if owner.__flags__ & _HEAP and (put_method is not setattr or not owner.__flags__ & _IMMUTABLE):
            found.append((method, value, chosen))
        elif (module.__name__, name) not in _told:
            _told.add((module.__name__, name))
            sites.note(
                f"{chosen[0][1].origin or 'the plan'}: methods of {module.__name__}:{name} are not recorded: the class is C's "
                "own and cannot be changed; record the functions that call them"
            )
    return found


def _recorded(function: Any, module: str, qualname: str, chosen: Sequence[Numbered]) -> Any:
    """`function` in a wrapper that records its calls."""
    from clew.instrument.probes.wrapped import Wrapped  # wrapt is loaded by who needs it

    site = sites.register(module, qualname, "", 0, 0, "builtin", chosen[0][0])
    actions: list[tuple[Action, str]] = [(action, rule.origin) for _, rule in chosen for action in rule.actions]
    signature = _signature(function) if actions else None
    parameters = _parameters(signature)
    probes = compile_actions(site, parameters, f"{module}:{qualname}", actions) if actions else Probes(site)
    method = type(function) in _METHODS
    started, *finished = (
        _call(call, signature, method)
        for call in (probes.start, probes.before_exit, probes.after_exit, probes.before_unwind, probes.after_unwind)
    )
    enter, leave, unwind = (core.Probe(site, kind) for kind in (Kind.ENTER, Kind.EXIT, Kind.UNWIND))
    return Wrapped(function, Bracket(enter, leave, unwind, started, *finished))


def _signature(function: Any) -> inspect.Signature | None:
    import inspect  # which few programs that name such functions need from the start

    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return _told_in_text(function)


def _told_in_text(function: Any) -> inspect.Signature | None:
    """What `inspect` does not read: a default that cannot be written in Python. None when nothing is told at all."""
    import ast
    import inspect

    text = getattr(function, "__text_signature__", None) or ""
    try:
        told = ast.parse(f"def f{text.replace('$', '').replace('<unrepresentable>', 'None')}: pass").body[0]
    except SyntaxError:
        return None
    if not isinstance(told, ast.FunctionDef) or told.args.kwonlyargs or told.args.vararg or told.args.kwarg:
        return None
    names = [*told.args.posonlyargs, *told.args.args]
    needed = len(names) - len(told.args.defaults)
    return inspect.Signature(
        [
            inspect.Parameter(
                name.arg,
                inspect.Parameter.POSITIONAL_ONLY
                if name in told.args.posonlyargs
                else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if place < needed else None,
            )
            for place, name in enumerate(names)
        ]
    )


def _parameters(signature: inspect.Signature | None) -> Mapping[str, Parameter]:
    names = signature.parameters if signature else ()
    return {name: Parameter(index, False, False) for index, name in enumerate(names)}


def _call(call: Call | None, signature: inspect.Signature | None, method: bool) -> Callable[..., None] | None:
    """What a `Bracket` calls: `call`'s action with the parameters it reads, which have to be found among the arguments."""
    if call is None:
        return None
    action: Any = call.action
    given_of = _reader(signature) if call.parameters and signature is not None else None

    def run(*given: Any) -> None:
        *subject, instance, args, kwargs = given
        values: Sequence[Any] = ()
        if given_of is not None:
            try:
                values = given_of((instance, *args) if method and instance is not None else args, kwargs)
            except TypeError:
                return  # the function itself has said, or will say, that these arguments are wrong
        action(*subject, *(values[position] for position in call.parameters))

    return run


def _reader(signature: inspect.Signature) -> Callable[[tuple[Any, ...], dict[str, Any]], Sequence[Any]]:
    """What gives the values of all parameters in a call. It raises `TypeError` for arguments that do not fit."""
    parameters = signature.parameters.values()
    defaults = tuple(parameter.default for parameter in parameters)
    simple = all(parameter.kind <= parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    needed = sum(default is signature.empty for default in defaults)

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        if simple and not kwargs and needed <= len(args) <= len(defaults):
            return (*args, *defaults[len(args) :])  # what is below, many times faster
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    return read
