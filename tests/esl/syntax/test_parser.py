"""Parsing returns a tree and problems for any text, and a bad statement affects only itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.esl import compile_text, render_all
from clew.esl.syntax import ast
from clew.esl.syntax.parser import parse
from clew.esl.syntax.span import Lines, Span
from tests.support.examples import examples
from tests.support.specs.damaged_texts import damaged

GOOD = (
    "include threads;",
    "scope app.** except app.test.**, **:*.__repr__;",
    "send app.wire:Connection.send key message.id as message when message.size > 10;",
    "receive each finish app.wire:read key (result.id, 'a;b{') as message;",
    "payload app.wire:read value len(data)\n    as size\n    limit 80;",
    'request app.api:handle as "GET /x; y";',
    "level component = { store: app.store, wire: app.wire, };",
    "entity Chunk is app.store:Chunk {\n    watch size is this.nbytes;\n    when start delete(id) -> deletion(this);\n}",
    "logs level INFO from app.*;",
    "quota 512MB;",
    "quota 512MB keep newest;",
    "output none;",
    "record writes;",
    "resource taken app.pool:*.get key this.pool item result capacity this.size as pool;",
    'resource returned app.pool:*.put item connection as "the pool";',
    "handle app.wire:on_* key message.id as message;",
    "release finish app.lock:free key id(this) as lock;",
    'request app.api:serve as (method + " " + path) when method;',
    "inject app.http:call into environment as TRACEPARENT;",
    "payload app.wire:read value $what as $name limit $most at most $most/min;",
    'redact "password", "*token*";',
    'redact matching "[0-9]{4};";',
    "parameter most = 3;",
    "include threads, pack(most = 3, name = 'a;b');",
    "entity Chunk extended unique by this.id contains Part by this.parts {\n"
    "    when finish make(x: int) on x > 3 -> position(this) at most 3/s;\n}",
)


def nodes(node: object) -> Iterator[ast.Node]:
    if isinstance(node, ast.Node):
        yield node
        for field in dataclasses.fields(node):
            yield from nodes(getattr(node, field.name))
    elif isinstance(node, tuple):
        for item in node:
            yield from nodes(item)


def check_spans(text: str) -> None:
    """Assert that every span is a place of the text, that its two forms agree, and that its parent contains it."""
    compiled = compile_text(text, workspace="/")
    lines = text.split("\n")
    spans = [problem.span for problem in compiled.problems]
    for node in nodes(compiled.tree):
        spans.append(node.span)
        for child in nodes(node):
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end
    for span in spans:
        assert 0 <= span.start <= span.end <= len(text)
        assert 1 <= span.line <= span.end_line <= len(lines)
        assert sum(len(line) + 1 for line in lines[: span.line - 1]) + span.column - 1 == span.start
        assert sum(len(line) + 1 for line in lines[: span.end_line - 1]) + span.end_column - 1 == span.end
    assert render_all(compiled.problems, "x.esl", text).count("\n") >= len(compiled.problems) - 1


def test_parse_of_sketch_has_no_problems(sketch: str) -> None:
    parsed = parse(sketch)
    assert parsed.problems == ()
    assert not [statement for statement in parsed.tree.statements if isinstance(statement, ast.Broken)]


@pytest.mark.slow
def test_parse_accepts_every_prefix_of_valid_specs(specs: dict[str, str]) -> None:
    for text in specs.values():
        for stop in range(len(text)):
            parse(text[:stop])


@pytest.mark.slow
def test_compile_text_accepts_specs_with_a_character_removed(specs: dict[str, str]) -> None:
    for text in specs.values():
        for place in range(0, len(text), 7):
            compile_text(text[:place] + text[place + 1 :], workspace="/")


def test_spans_of_specs_and_prefixes_are_places_in_the_text(specs: dict[str, str]) -> None:
    for text in specs.values():
        check_spans(text)
        for stop in range(0, len(text), 17):
            check_spans(text[:stop])


words = st.sampled_from(
    "scope send receive join define use request inject extract payload logs budget quota output none record writes resource "
    "taken "
    "returned item capacity level entity watch when key release acquire handle name redact parameter matching on by unique "
    "contains extended at most at 3/s $p $ value into "
    "from as limit start finish each except include unsafe is and or not in with ids a.b:c **:*.d x 12 3% "
    "512MB \"t\" 'u' ' \" ; ; ; { } ( ) [ ] , . : = -> - == < /* */ // # \n \r\n \t ü \u2028 \0".split(" ")
)
texts = st.text() | st.lists(words).map(" ".join) | st.lists(words).map("".join)


@settings(max_examples=examples(400))
@given(texts)
def test_compile_text_of_any_text_has_a_plan_or_problems(text: str) -> None:
    compiled = compile_text(text, workspace="/")
    assert (compiled.plan is None) == any(problem.severity == "error" for problem in compiled.problems)
    check_spans(text)


@pytest.mark.slow
def test_compile_text_of_mutations_has_a_plan_or_problems(specs: dict[str, str]) -> None:
    for text in damaged(specs.values(), 10_000):
        compiled = compile_text(text, workspace="/")
        assert (compiled.plan is None) == any(problem.severity == "error" for problem in compiled.problems)
        for problem in compiled.problems:
            span = problem.span
            assert problem.message and 0 <= span.start <= span.end <= len(text)
            assert text[: span.start].count("\n") + 1 == span.line


# Words of a bad line that affects no other line: they open no comment that spans the following lines.
junk_words = st.sampled_from(
    "scope scop send key value as x a.b:c ; { } ( ) [ ] , : = -> - 12 \" ' # // entity level when watch is % ; } {".split()
)
junk = st.lists(junk_words, min_size=1).map(" ".join)


@settings(max_examples=examples(300))
@given(st.lists(st.sampled_from(GOOD), min_size=1, max_size=5, unique=True), st.data())
def test_parse_bad_line_hides_no_good_statement(good: list[str], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(good)))
    lines = [*good[:place], data.draw(junk), *good[place:]]
    wanted = [statement for text in good for statement in parse(text).tree.statements]
    found = list(parse("\n".join(lines)).tree.statements)
    for statement in wanted:
        assert statement in found
        found.remove(statement)


@pytest.mark.parametrize("text", GOOD)
def test_parse_missing_semicolon_is_a_problem_at_the_statement_end(text: str) -> None:
    if text.endswith("}"):
        return
    both = f"{text[:-1]}\nscope last.**;"
    parsed = parse(both)
    assert [(problem.message, problem.fix) for problem in parsed.problems] == [
        ("a statement must end with `;`; add it here", ";")
    ]
    assert parsed.problems[0].span.start == len(text) - 1
    assert len(parsed.tree.statements) == 2


def test_parse_accepts_statements_on_one_line_or_many(sketch: str) -> None:
    spread = parse(sketch.replace(" ", "\n").replace("with\nids", "with ids")).tree
    assert spread.statements == parse(sketch).tree.statements
    assert parse(sketch.replace("\n", "\r\n")).tree.statements == parse(sketch).tree.statements
    joined = " ".join(line for line in sketch.splitlines())
    assert parse(joined).tree.statements == parse(sketch).tree.statements


def test_parse_accepts_all_kinds_of_comments_anywhere() -> None:
    text = "/* a\n; */ scope // b;\n app.** # c;\n except /*d*/ app.x; /**/"
    parsed = parse(text)
    assert parsed.problems == ()
    assert parsed.tree.statements == parse("scope app.** except app.x;").tree.statements


def test_parse_marks_in_strings_and_comments_do_not_end_a_statement() -> None:
    parsed = parse('request a:b as "x; } { // # /* y"; // ; }\nscope c; # {\n')
    assert parsed.problems == ()
    assert [type(statement).__name__ for statement in parsed.tree.statements] == ["Act", "Scope"]


def test_parse_string_resolves_its_escapes() -> None:
    (statement,) = parse(r'request a:b as "tab\t quote\" back\\ d\d";').tree.statements
    assert isinstance(statement, ast.Act)
    assert statement.clauses[0].name == ast.Word(Span(1, 1, 1, 1), 'tab\t quote" back\\ dd')


def test_parse_accepts_keywords_as_modules_functions_and_names() -> None:
    text = """
        scope scope; scope except.send:key except when.as, start:finish;
        send start start.each:finish key key as start;
        receive finish.x:y key key as send;
        level level = { scope: use.level, logs: logs:logs };
        entity entity is entity:entity { watch watch is this.watch; when start start(when) -> position(this, when); }
    """
    parsed = parse(text)
    assert parsed.problems == ()
    send = parsed.tree.statements[2]
    assert isinstance(send, ast.Act)
    assert [word.text for word in send.modifiers] == ["start"]
    assert send.pattern.text == "start.each:finish"


def test_parse_unclosed_entity_ends_at_the_next_statement() -> None:
    parsed = parse(
        "entity A is b:C {\n when start f() -> deletion(this);\nscope d.**;\nlevel x = { scope: a.b,\n logs: c };"
    )
    assert [type(statement).__name__ for statement in parsed.tree.statements] == ["Entity", "Scope", "LevelMap"]
    assert len(parsed.problems) == 1 and "never closed" in parsed.problems[0].message


def test_parse_bad_line_of_entity_hides_no_other_line() -> None:
    text = """entity A is b:C {
        watch one is this.one;
        watch two is ;
        when stat f() -> deletion(this);
        nonsense;
        watch three is this.three
        when finish g() -> deletion(this);
    }"""
    (entity,) = parse(text).tree.statements
    assert isinstance(entity, ast.Entity)
    assert [type(member).__name__ for member in entity.members] == ["Watch", "Watch", "EntityEvent"]
    assert len(parse(text).problems) == 4


@pytest.mark.parametrize("name", ["scope", "send", "include", "entity", "payload", "budget"])
def test_parse_misspelt_keyword_proposes_the_keyword(name: str) -> None:
    for slip in (name[1:], name[:-1], name[0] + name[2] + name[1] + name[3:], name + "s"):
        (problem,) = parse(f"{slip} a.b;").problems
        assert problem.fix == name and f"did you mean `{name}`?" in problem.message
        assert problem.span == Span(1, 1, 1, len(slip) + 1, 0, len(slip))


def test_problem_fix_in_place_of_its_span_removes_the_problem() -> None:
    texts = [
        "scop a.b;",
        "scope a.b",
        "scope a.b exept c;",
        "send a:b kye c;",
        "include asyncoi;",
        "entity A is b:C;",
        "entity A is b.C {}",
        "entity A is b:C {",
        "entity A is b:C { wach x is this.y; }",
        "entity A is b:C { when strat f() -> deletion(this); }",
        "entity A is b:C { when start f(node) -> position(this, nod); }",
        "entity A is b:C { when start f() -> delete(this); }",
        "budget 3;",
        "budget 0.03;",
        "quota 12 mb;",
        "logs level wanring;",
        "payload a:b value lenn(c);",
        "define a:b key c as chunk; use a:b key c as chunks;",
    ]
    for text in texts:
        problems = [problem for problem in compile_text(text, workspace="/").problems if problem.fix]
        assert problems, text
        first = problems[0]
        fixed = text[: first.span.start] + first.fix + text[first.span.end :]
        left = [problem.message for problem in compile_text(fixed, workspace="/").problems]
        assert first.message not in left, fixed
        assert not [message for message in left if "expected" in message or "begins no" in message], fixed


@given(st.text(alphabet="ab\n\r ü\t"), st.integers(0, 30), st.integers(0, 30))
def test_lines_span_counts_lines_and_columns_like_an_editor(text: str, start: int, length: int) -> None:
    start = min(start, len(text))
    end = min(start + length, len(text))
    span = Lines(text).span(start, end)
    assert (span.start, span.end) == (start, end)
    before, inside = text[:start], text[:end]
    assert (span.line, span.column) == (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
    assert (span.end_line, span.end_column) == (inside.count("\n") + 1, len(inside) - (inside.rfind("\n") + 1) + 1)
