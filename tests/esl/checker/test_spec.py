"""Checks of a spec without source: each error has a message, and valid specs have no problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from clew.esl import SpecError, check, compile_file, compile_text
from clew.esl.packs.registry import ADAPTERS, shipped
from clew.records.plan.default_plan import FACTS
from clew.records.plan.plan import LogCapture


def messages(text: str) -> list[str]:
    return [problem.message for problem in compile_text(text, workspace="/").problems]


def severities(text: str) -> list[str]:
    return [problem.severity for problem in compile_text(text, workspace="/").problems]


def test_valid_specs_of_the_repository_have_no_errors(specs: dict[str, str]) -> None:
    assert len(specs) >= 5
    for name, text in specs.items():
        assert "error" not in severities(text), name


def test_include_standard_installs_all_adapters() -> None:
    plan = compile_text("include standard;", workspace="/").require()
    assert sorted(plan.adapters) == sorted([*ADAPTERS.values(), *FACTS])
    assert plan.rules == ()


def test_shipped_packs_have_no_problems() -> None:
    for name, text in shipped().items():
        assert compile_text(text, f"{name}.esl", "/").problems == ()


def test_include_repeated_installs_each_adapter_once() -> None:
    plan = compile_text("include threads; include standard, threads;", workspace="/").require()
    assert sorted(plan.adapters) == sorted([*ADAPTERS.values(), *FACTS])


@pytest.mark.parametrize(("text", "share"), [("3%", 0.03), ("0.5 %", 0.005), ("100%", 1.0), ("2.5%", 0.025)])
def test_budget_is_parsed_as_a_share(text: str, share: float) -> None:
    assert compile_text(f"budget {text};", workspace="/").require().budget == share


@pytest.mark.parametrize("text", ["0%", "101%", "0.03", "3", "1e9%"])
def test_budget_out_of_range_is_an_error(text: str) -> None:
    assert severities(f"budget {text};") == ["error"]


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MB", 512 << 20), ("2 GB", 2 << 30), ("1.5GB", 3 << 29), ("128KB", 128 << 10), ("9e99GB", 1 << 60)],
)
def test_quota_is_parsed_as_bytes(text: str, size: int) -> None:
    assert compile_text(f"quota {text};", workspace="/").require().quota == size


@pytest.mark.parametrize(
    ("text", "keep"),
    [("", "oldest"), (" keep oldest", "oldest"), (" keep newest", "newest"), ("\nkeep  newest", "newest")],
)
def test_quota_keep_is_oldest_unless_newest_is_given(text: str, keep: str) -> None:
    plan = compile_text(f"quota 512MB{text};", workspace="/").require()
    assert (plan.quota, plan.keep) == (512 << 20, keep)


@pytest.mark.parametrize("text", ["512", "512 mb", "1 kb", "1KB", "0GB", "3 TB", "512MB keep", "512MB keep all"])
def test_quota_without_unit_or_too_small_is_an_error(text: str) -> None:
    assert severities(f"quota {text};") == ["error"]


@pytest.mark.parametrize(
    ("text", "level", "loggers", "ids"),
    [
        ("logs;", 0, (), False),
        ("logs level WARNING;", 30, (), False),
        ("logs level warning with ids;", 30, (), True),
        ("logs level 15 from app, lib.*, other.sub.**;", 15, ("app", "lib", "other.sub"), False),
        ("logs from app.*, **;", 0, (), False),
        ("logs with ids from app level ERROR;", 40, ("app",), True),
    ],
)
def test_logs_capture_by_level_and_logger_prefix(text: str, level: int, loggers: tuple[str, ...], ids: bool) -> None:
    capture = compile_text(text, workspace="/").require().logs
    assert capture is not None
    assert (capture.level, capture.loggers, capture.ids) == (level, loggers, ids)


def test_spec_without_logs_statement_captures_warnings() -> None:
    assert compile_text("scope a;", workspace="/").require().logs == LogCapture(30)


@pytest.mark.parametrize(
    ("statement", "fragment"),
    [
        ("send a:f key x as c; send b:f key x as c;", "`c` makes no edge: nothing receives it"),
        ("receive a:f key x as c;", "nothing sends it"),
        ("join a:f key x as c;", "nothing sends it"),
        ("define a:f key x as c;", "nothing uses it"),
        ("use a:f key x as c;", "nothing defines it"),
        ("send a:f key x as c; use a:f key x as c;", "nothing defines it"),
    ],
)
def test_channel_with_one_end_is_a_warning(statement: str, fragment: str) -> None:
    assert any(fragment in message for message in messages(statement))
    assert set(severities(statement)) == {"warning"}


@pytest.mark.parametrize(
    "statements",
    [
        "send a:f key x as c; receive b:g key y as c;",
        "send a:f key x as c; join b:g key y as c;",
        "define a:f key x as c; use b:g key y as c;",
        "send a.b:C.put key x; receive a.b:D.put key y;",
        "inject a:f into headers;",
        "extract a:f from headers;",
    ],
)
def test_channel_with_both_ends_has_no_problem(statements: str) -> None:
    assert messages(statements) == []


def test_channel_without_a_name_has_that_of_the_function() -> None:
    plan = compile_text("send a.b:C.put key x; receive a.b:D.put key y;", workspace="/").require()
    assert [rule.actions[0].channel for rule in plan.rules] == ["put", "put"]


def test_check_of_channel_ends_is_silent_while_a_statement_is_unreadable() -> None:
    assert messages("send a:f key x as c; receive b:g ke y as c;") == ["`ke` is not expected here; did you mean `key`?"]


def test_duplicate_statement_is_a_warning_and_contradiction_an_error() -> None:
    assert severities("scope a; scope a;") == ["warning"]
    assert severities("scope a, a;") == ["warning"]
    assert severities("scope a; scope a except b;") == []
    assert severities("payload a:f value x; payload  a:f  value x;") == ["warning"]
    assert severities("payload a:f value x; payload a:f value y;") == []
    assert severities("request a:f as x; request a:f as y;") == ["error"]
    assert severities("budget 3%; budget 3%;") == ["error"]
    assert severities("level a = { x: b }; level a = { y: b };") == ["error"]
    assert severities("entity A is b:C { } entity A is b:D { }") == ["error"]


def test_entity_may_be_extended_by_a_second_block() -> None:
    text = "entity A is b:C { when start f() -> deletion(this); } entity A is b:C { when start g() -> deletion(this); }"
    compiled = compile_text(text, workspace="/")
    assert compiled.problems == ()
    assert [rule.target.qualname for rule in compiled.require().rules] == ["C.f", "C.g"]


def test_watched_value_is_its_expression_and_a_payload_of_each_event() -> None:
    text = "entity A is b:C { watch size is this.n; when finish f(n) -> communication(size, n); }"
    (rule,) = compile_text(text, workspace="/").require().rules
    event, watch = rule.actions
    assert (event.kind, event.event, event.channel, event.when) == ("entity", "communication", "A", "finish")
    assert event.values == (["attr", ["name", "this"], "n"], ["name", "n"])
    assert (watch.kind, watch.channel, watch.key, watch.when) == ("payload", "A.size", event.values[0], "finish")


def test_entity_parameter_hides_a_watched_value_of_its_name() -> None:
    text = "entity A is b:C { watch size is this.n; when start f(size) -> communication(size, this); }"
    (rule,) = compile_text(text, workspace="/").require().rules
    assert rule.actions[0].values[0] == ["name", "size"]


def test_spec_with_warning_has_a_plan_and_with_error_has_no_plan() -> None:
    assert compile_text("scope a; scope a;", workspace="/").plan is not None
    broken = compile_text("scope a; scop b;", workspace="/")
    assert broken.plan is None
    assert [rule.pattern.text for rule in broken.rules] == ["a"]
    with pytest.raises(SpecError, match=r"spec.esl:1:10: error: `scop` does not begin a statement"):
        broken.require()


def test_rule_origin_is_its_file_and_line() -> None:
    plan = compile_text(
        "\n\nscope a,\n b;\nentity A is b:C {\n when start f() -> deletion(this); }", "dir/x.esl", "/"
    ).require()
    assert [rule.origin for rule in plan.rules] == ["dir/x.esl:3", "dir/x.esl:4", "dir/x.esl:6"]
    assert plan.spec == "dir/x.esl"


def test_compile_file_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "latin.esl").write_bytes(b"scope caf\xe9;")
    cases = {
        tmp_path / "missing.esl": "the file does not exist",
        tmp_path: "the path is a folder",
        tmp_path / "latin.esl": "the file is not UTF-8 text (line 1, byte 9)",
        Path("nul\0l.esl"): "the path is invalid",
        tmp_path / "latin.esl" / "below.esl": "the file cannot be read",
        tmp_path / ("x" * 300): "the file cannot be read",
    }
    for path, fragment in cases.items():
        for compiled in (compile_file(path, tmp_path), check(path, tmp_path)):
            assert compiled.plan is None
            assert fragment in compiled.problems[0].message
            with pytest.raises(SpecError):
                compiled.require()


def test_compile_file_accepts_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.esl"
    path.write_bytes(b"\xef\xbb\xbfscope a;\r\nscope b;\r\n")
    compiled = compile_file(path)
    assert compiled.problems == () and len(compiled.require().rules) == 2


def test_empty_spec_has_the_plan_of_every_spec() -> None:
    for text in ("", " \n", ";;", "// nothing"):
        plan = compile_text(text, workspace="/").require()
        assert (plan.rules, plan.adapters, plan.logs, plan.levels, plan.budget) == ((), FACTS, LogCapture(30), (), None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("resource taken a:P.get; ", "`resource` needs `as NAME`"),
        ("resource taken a:P.get as p;", "`p` is no resource: nothing returns it; add a `resource returned … as p`"),
        ("resource returned a:P.put as p;", "`p` is no resource: nothing takes it; add a `resource taken … as p`"),
        ("resource taken a:P.get as p; resource returned a:P.put capacity 3 as p;", "a pool's `capacity` belongs to"),
        ("resource taken a:P.get key result as p; resource returned a:P.put as p;", "`result` has a value only after"),
        ("resource returned a:P.put item result as p; resource taken a:P.get as p;", "`result` has a value only after"),
        ("resource taken a:P.get limit 3 as p; resource returned a:P.put as p;", "`resource` has no `limit`"),
        ("resource a:P.get as p;", "`a` is not expected here"),
    ],
)
def test_resource_with_a_mistake_has_a_problem_that_names_it(text: str, message: str) -> None:
    problems = [problem.message for problem in compile_text(text, workspace="/").problems]
    assert any(message in problem for problem in problems), problems


def test_resource_is_lowered_to_the_actions_of_both_ends() -> None:
    text = "resource taken a:P.get item result capacity this.n as p; resource returned a:P.put item x as p;"
    compiled = compile_text(text, workspace="/")
    assert compiled.problems == ()
    assert [(action.kind, action.when, action.channel) for rule in compiled.require().rules for action in rule.actions] == [
        ("take", "start", "p"), ("hold", "finish", "p"), ("untake", "finish", "p"), ("give", "start", "p"),
    ]  # fmt: skip


def test_output_none_leaves_out_output_lines_only() -> None:
    plan = compile_text("output none; include threads;", workspace="/").require()
    assert "outputs" not in plan.adapters and {"exceptions", "threads"} <= set(plan.adapters)
    assert severities("output none; output none;") == ["warning"]
    assert severities("output;") == severities("output all;") == ["error"]


def test_record_writes_sets_the_plan_and_counts_once() -> None:
    plan = compile_text("scope shop:**; record writes;", workspace="/").require()
    assert plan.writes and not compile_text("scope shop:**;", workspace="/").require().writes
    assert severities("record writes; record writes;") == ["warning"]
    assert severities("record;") == severities("record reads;") == ["error"]


def test_entity_unique_and_contains_on_a_property_are_problems(workspace) -> None:
    source = "class A:\n    def __init__(self): self.parts = []\n    @property\n    def name(self): return ''\n"
    folder = workspace({".git/HEAD": "", "app.py": source})
    lines = "{ when finish __init__() on this.name -> position(this); }"
    text = f"include standard; entity A is app:A unique by this.name contains A by unsafe this.name {lines}"
    found = [problem.message for problem in check("x.esl", folder, text=text).problems]
    assert len(found) == 2 and all("`name` is a property of `A`" in message for message in found)
