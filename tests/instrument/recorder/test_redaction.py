"""Redaction hides values by their names or by patterns, and hides nothing else."""

import pytest

from clew.instrument.probes.actions import values
from clew.instrument.probes.select.rules import PlanChooser
from clew.instrument.recorder import redaction
from clew.instrument.recorder.redaction import Redaction
from clew.records.plan.plan import Action, Plan, Redact, Rule, Target

NAMES = Redaction(Redact(names=("password", "*token*", "author?zation")))
CARDS = Redaction(Redact(patterns=(r"\d{4}(?:-\d{4}){3}", "sk-[a-z]+")))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password=hunter2", "password=<redacted>"),
        ("user=ann&Password=hunter2&x=1", "user=ann&Password=<redacted>&x=1"),
        ("{'api_token': 't 0 p', 'n': 1}", "{'api_token': <redacted>, 'n': 1}"),
        ('{"token":"a\\"b","n":1}', '{"token":<redacted>,"n":1}'),
        ('{"token": "never closed', '{"token": <redacted>'),
        ("Authorization: Bearer abc.def; more", "Authorization: <redacted>; more"),
        ("the password is asked for", "the password is asked for"),
        ("tokens: 3", "tokens: <redacted>"),
        ("my.password = b'x y'", "my.password = b<redacted>"),
        ("my-password = x", "my-password = x"),
        ("", ""),
    ],
)
def test_redaction_of_text_hides_the_value_after_a_hidden_name(text: str, shown: str) -> None:
    assert NAMES.text(text) == shown


def test_redaction_by_pattern_hides_matches_anywhere() -> None:
    assert CARDS.text("paid by 1234-5678-9012-3456, key sk-abc") == "paid by <redacted>, key <redacted>"
    assert CARDS.text("password=1") == "password=1"


def test_redaction_of_command_line_hides_values_of_options() -> None:
    shown = NAMES.arguments(["app", "--password", "hunter2", "--api-token=x", "-n", "1", "--password"])
    assert shown == ["app", "--password", "<redacted>", "--api-token=<redacted>", "-n", "1", "--password"]


def test_redaction_matches_whole_names_in_any_case() -> None:
    hidden = [name for name in ("Password", b"X-TOKEN-1", "passwords", "pass", "authorization", 3) if NAMES.hides(name)]
    assert hidden == ["Password", b"X-TOKEN-1", "authorization"]


def test_redaction_hides_secret_truncated_by_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_current", [CARDS])
    assert values.render("card 1234-5678-9012-3456", 12) == ("card <redact", True)
    assert values.render(["1234-5678-9012-3456"], 80) == ("['<redacted>']", False)
    assert values.render({"k": ("sk-abc", 1)}, 80) == ("{'k': ('<redacted>', 1)}", False)


def test_redaction_hides_headers_and_nested_keys_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_current", [NAMES])
    assert values.render([(b"authorization", b"x"), (b"host", b"y")], 80)[0] == (
        "[(b'authorization', <redacted>), (b'host', b'y')]"
    )
    assert values.render({"a": {"password": [1, 2]}}, 80)[0] == "{'a': {'password': <redacted>}}"


def test_redaction_leaves_out_invalid_pattern_of_a_plan() -> None:
    assert Redaction(Redact(patterns=("(", "b"))).text("abc") == "a<redacted>c"


def test_redaction_change_gives_functions_with_actions_new_code() -> None:
    action = Action("payload", "start", "p", key=["name", "x"])
    plan = Plan(rules=(Rule(Target("m", "f"), actions=(action,)), Rule(Target("m", "g"))))
    space: dict[str, object] = {}
    exec("def f(x): pass\ndef g(x): pass", space)

    def request(plan: Plan, name: str) -> object:
        chooser = PlanChooser(plan).of_module("m", "m.py")
        assert chooser is not None
        return chooser.request(space[name].__code__)

    hiding = plan._replace(redact=Redact(("x",)))
    try:
        assert request(plan, "f") != request(hiding, "f") == request(hiding, "f")
        assert request(plan, "g") == request(hiding, "g")
    finally:
        redaction.use(None)
