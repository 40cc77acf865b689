"""Parameters, extended entities, rates, redaction and handlers: their meaning, and a message for each error."""

from __future__ import annotations

import pytest

from clew.esl import Compiled, compile_text
from clew.esl.packs import registry
from clew.esl.syntax.parser import parse
from clew.records.plan.plan import Redact

PACK = """
parameter module = "worker"; parameter most = 5; parameter loud = False; parameter any = None;
entity Job is $module:Job { when start run() on $loud -> deletion(this); }
payload $module:Job.run value $any as job limit $most at most $most/min;
"""


@pytest.fixture(autouse=True)
def pack(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {**registry.shipped(), "jobs": PACK, "more": "include jobs;"}
    monkeypatch.setattr(registry, "shipped", lambda: texts)


def compiled(text: str, **settings: str) -> Compiled:
    return compile_text(text, workspace="/", settings=settings)


def messages(text: str, **settings: str) -> list[str]:
    return [problem.message for problem in compiled(text, **settings).problems]


def test_parameter_is_replaced_by_its_value_everywhere() -> None:
    text = (
        'parameter p = "app"; parameter n = 7; parameter level = "INFO"; parameter share = 2.5; parameter off = True;'
        "scope $p.**, x.$p:C.$p except $p.test; payload $p:f value ($n, $p) as $p limit $n at most $n/h when not $off;"
        "logs level $level; budget $share%; quota $n MB; level l = { $p: $p.a };"
    )
    plan = compiled(text).require()
    same = text[text.index("scope") :]
    for name, value in (("$p", "app"), ("$n", "7"), ("$level", "INFO"), ("$share", "2.5"), ("$off", "True")):
        same = same.replace(f"({name}", f"({value}").replace(name, value)
    same = same.replace("(7, app)", '(7, "app")')
    assert plan == compiled(same).require()


def test_setting_is_parsed_by_the_type_of_its_parameter() -> None:
    text = 'parameter a = 1; parameter b = "x"; parameter c = False; parameter d = None; payload m:f value ($a, $b, $c, $d);'
    (rule,) = compiled(text, a="-2.5", b="7", c="TRUE", d="3").require().rules
    assert [item[1] for item in rule.actions[0].key[1]] == [-2.5, "7", True, 3]


@pytest.mark.parametrize(
    ("name", "value", "fragment"),
    [
        ("a", "many", "`a` is a number, not 'many'"),
        ("a", "True", "`a` is a number"),
        ("c", "1", "`c` is True or False"),
        ("bb", "1", "no parameter `bb`"),
    ],
)
def test_setting_of_wrong_type_or_name_is_an_error(name: str, value: str, fragment: str) -> None:
    (message,) = messages("parameter a = 1; parameter c = True; payload m:f value ($a, $c);", **{name: value})
    assert fragment in message


def test_compiled_meant_tree_has_the_spans_of_the_parsed_tree() -> None:
    text = 'parameter p = "app";\nscope $p.**;'
    found = compiled(text)
    assert found.tree == parse(text).tree
    assert [each.span for each in found.meant.statements] == [each.span for each in found.tree.statements]


def test_include_passes_values_to_the_pack() -> None:
    rules = compiled('include jobs(module = "app.work", most = 9, any = "x"), threads;').require().rules
    assert {rule.target.module for rule in rules} == {"app.work"}
    payload = rules[-1].actions[0]
    assert (payload.limit, payload.most, payload.per, payload.key) == (9, 9, 60, ["const", "x"])
    assert {rule.target.module for rule in compiled("include more;").require().rules} == {"worker"}


def test_entity_of_pack_can_be_extended() -> None:
    plan = compiled("include more; entity Job extended { when finish stop() -> deletion(this); }").require()
    assert plan.rules[-1].target.qualname == "Job.stop"
    assert [kind.name for kind in plan.entities] == ["Job"]
    text = 'parameter m = "shop"; include jobs(module = $m); entity Job extended { when start f() -> position(this); }'
    assert compiled(text).require().rules[-1].target[:2] == ("shop", "Job.f")


def test_redact_statements_are_joined_in_the_plan() -> None:
    plan = compiled('redact "a", "b*"; redact matching "c+"; redact "d";').require()
    assert plan.redact == Redact(("a", "b*", "d"), ("c+",))


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("payload a:f value $x;", "add `parameter x = …;`"),
        ("parameter most = 1; payload a:f value $mots at most $most/s;", "did you mean `most`?"),
        ("parameter x = y; scope a;", "a string, a number, `True`, `False` or `None`"),
        ("parameter x = 1; scope a;", "the parameter `$x` is unused"),
        ("parameter x = 1; parameter x = 2; payload a:f value $x;", "is already declared in line 1"),
        ('parameter x = "many"; payload a:f value y limit $x;', "expected a number that is not negative"),
        ("parameter x = 3; payload a:f value y as $x;", "expected a text"),
        ('parameter x = "a b"; scope $x;', "which is not a pattern"),
        ("scope a.$;", "not followed by the name of a parameter"),
        ("include jobs(mots = 3);", "did you mean `most`?"),
        ('include jobs(most = "3");', "the parameter `most` of `jobs` is a number"),
        ("include jobs(most = x);", "expected a string, a number"),
        ("include jobs(most = 1, most = 2);", "given twice"),
        ("include threads(x = 1);", "it has no parameters"),
        ('redact "";', "the name is empty"),
        ('redact "a b";', "write `redact matching`"),
        ('redact matching "(";', "invalid regular expression"),
        ('redact matching "a*";', "matches the empty text"),
        ('redact "a"; redact "a";', "this is redacted in line 1 already"),
        ("payload a:f value x at most 3/sec;", "did you mean `s`?"),
        ("payload a:f value x at most 0/s;", "of at least 1"),
        ("payload a:f value x at most 1.5/s;", "a whole number"),
        ("payload a:f value x at most 3/s at most 4/s;", "given twice"),
        ("send a:f key x at most 3/s;", "`send` has no `at most`"),
        ("logs at most 1/s at most 2/s;", "given twice"),
        ("handle finish a:f;", "applies to the whole call"),
        ("handle a:* key x;", "add `as NAME`"),
        ("handle a:f key x as c;", "nothing sends it"),
        ("release a:f key x as c;", "nothing acquires it"),
        ("acquire a:f key x as c;", "nothing releases it"),
        ("send a:f key x as (y);", "only the name of a request can be a value"),
        ("request a:f as (result);", "add `finish`"),
        ("entity A extended { }", "unknown entity `A` in `extend`"),
        ("entity Job is a:B { } entity Jbo extended { }", "did you mean `Job`?"),
        ("entity A is a:B unique by x { }", "is read from `this`"),
        ("entity A is a:B unique by this.x unique by this.y { }", "`unique` is already declared in line 1"),
        ("entity A is a:B contains C by this.c { }", "unknown entity `C`"),
        ("entity A is a:B contains A by this.f() { }", "write `unsafe`"),
        ("entity A is a:B { when start f() on exception is None -> position(this); }", "add `finish`"),
        ("entity A is a:B { when start f() on y -> position(this); }", "unknown name `y`"),
    ],
)
def test_invalid_statement_has_its_message(text: str, fragment: str) -> None:
    found = messages(text)
    assert any(fragment in message for message in found), found


@pytest.mark.parametrize(
    "text",
    [
        "handle a:f;",
        "handle a:* as work;",
        "send a:f key x as c; handle a:g key x as c;",
        "release a:f key x as c; acquire finish a:g key x as c;",
        "request a:* as (this.name);",
        "inject a:f into x as TRACEPARENT; extract a:g from x as 'trace-parent';",
        "logs level INFO at most 100/s from a with ids;",
        "entity A is a:B contains A by this.parts { }",
        "entity A is a:B { watch x is this.x; } entity A extended { when start f() on x -> position(x, this) at most 1/h; }",
        "parameter contains = 1; parameter by = 2; payload by:on value ($contains, $by, on, unique) at most 3/min;",
    ],
)
def test_right_spec_has_no_problems(text: str) -> None:
    assert messages(text) == []
