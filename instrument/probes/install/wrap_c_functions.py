"""Record functions without bytecode: functions of modules written in C, and methods of their classes.

A rule matches these functions only if it names their module in full (`zlib:compress`, `_json:*`), because a wide rule
refers to code with source. If a Python module imports such a function (`json.decoder:scanstring`), the rule must also
name the function in full. wrapt wraps the functions immediately after the import of their module, so later imports
get the wrapper. Calls from C code that do not look up the function in the module are not recorded.

Invariant: a wrapper behaves like the wrapped function (`isinstance`, `inspect`, `pickle`, `copy`, `repr`, equality),
and tracebacks never contain clew's frames. Functions that cannot be changed are left unchanged, with a note in the
trace.
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
from clew.instrument.probes.actions.compile import compile_actions
from clew.instrument.probes.bytecode.rewrite import Call, Parameter, Probes
from clew.instrument.probes.install.hidden_calls import Bracket
from clew.instrument.probes.install.loaded_modules import loaded_namespaces
from clew.instrument.recorder.core import core
from clew.records.format.event import Kind
from clew.records.plan.match import is_wide, may_wrap, rule_matches
from clew.records.plan.plan import Action, Plan, Rule
from clew.source.c_modules import is_compiled

if TYPE_CHECKING:
    import inspect

try:
    from clew.instrument.probes._entry import put_method
except ImportError:
    put_method = setattr  # fails for immutable classes

_HEAP, _IMMUTABLE = 1 << 9, 1 << 8
"""Flags of a class: created at run time; immutable."""
_METHODS = (MethodDescriptorType, ClassMethodDescriptorType)

Numbered = tuple[int, Rule]
Found = tuple[str, Any, list[Numbered]]
"""Name, function, and the rules that match it."""
_noted: set[tuple[str, str]] = set()
"""Classes with a note in the trace that they cannot be changed."""


def install(plan: Plan) -> None:
    """Wrap the functions that `plan` names, now or when their module is imported."""
    rules: dict[str, list[Numbered]] = {}
    for index, rule in enumerate(plan.rules):
        module = rule.target.module
        if may_wrap(rule) and (not is_wide(rule.target.qualname) or is_compiled(module)):
            rules.setdefault(module, []).append((index, rule))
    if any(map(is_compiled, rules)):
        # Import it now, because it imports modules that the plan may name.
        importlib.import_module("clew.instrument.probes.install.proxy")
    for name, numbered in rules.items():
        if name in sys.builtin_module_names:
            importlib.import_module(name)  # built into the interpreter, so a loader hook would not see it
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
    """Replace functions in modules that imported them by name before they were wrapped."""
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
    """Return whether a rule matches a function.

    The rule must name a function in full if the module imported it from another module.
    """
    own = value.__module__ == module.__name__ or value.__self__ is module or not is_wide(rule.target.qualname)
    return own and rule_matches(rule, module.__name__, name, "")


def _classes(module: ModuleType) -> list[tuple[str, type]]:
    return [
        (name, value)
        for name, value in vars(module).items()
        # The classes of `_datetime`, the C part of `datetime`, have `datetime` as their module.
        if isinstance(value, type) and value.__module__ in (module.__name__, module.__name__.lstrip("_"))
    ]


def _methods(rules: Sequence[Numbered], module: ModuleType, name: str, owner: type) -> list[Found]:
    """Return the matched methods of a class that can be replaced; write a note if the class cannot be changed."""
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
        elif (module.__name__, name) not in _noted:
            _noted.add((module.__name__, name))
            sites.note(
                f"{chosen[0][1].origin or 'the plan'}: methods of {module.__name__}:{name} cannot be recorded because "
                "the class is implemented in C; record their callers instead"
            )
    return found


def _recorded(function: Any, module: str, qualname: str, chosen: Sequence[Numbered]) -> Any:
    """Return `function` in a wrapper that records its calls."""
    from clew.instrument.probes.install.proxy import Wrapped  # imports wrapt, only if needed

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
    import inspect  # few programs need it at startup

    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return _text_signature(function)


def _text_signature(function: Any) -> inspect.Signature | None:
    """Parse a text signature that `inspect` rejects because a default has no Python notation.

    Return None if the signature is missing or has other kinds of parameters.
    """
    import ast
    import inspect

    text = getattr(function, "__text_signature__", None) or ""
    try:
        parsed = ast.parse(f"def f{text.replace('$', '').replace('<unrepresentable>', 'None')}: pass").body[0]
    except SyntaxError:
        return None
    if not isinstance(parsed, ast.FunctionDef) or parsed.args.kwonlyargs or parsed.args.vararg or parsed.args.kwarg:
        return None
    names = [*parsed.args.posonlyargs, *parsed.args.args]
    needed = len(names) - len(parsed.args.defaults)
    return inspect.Signature(
        [
            inspect.Parameter(
                name.arg,
                inspect.Parameter.POSITIONAL_ONLY
                if name in parsed.args.posonlyargs
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
    """Return the function that a `Bracket` calls.

    It finds the parameters of `call` among the arguments and runs the action.
    """
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
                return  # the function itself reports the wrong arguments
        action(*subject, *(values[position] for position in call.parameters))

    return run


def _reader(signature: inspect.Signature) -> Callable[[tuple[Any, ...], dict[str, Any]], Sequence[Any]]:
    """Return a function that returns the values of all parameters in a call.

    It raises `TypeError` for arguments that do not fit.
    """
    parameters = signature.parameters.values()
    defaults = tuple(parameter.default for parameter in parameters)
    simple = all(parameter.kind <= parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)
    needed = sum(default is signature.empty for default in defaults)

    def read(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        if simple and not kwargs and needed <= len(args) <= len(defaults):
            return (*args, *defaults[len(args) :])  # same result as below, many times faster
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return tuple(bound.arguments.values())

    return read
