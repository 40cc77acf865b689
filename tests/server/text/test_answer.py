"""The texts of an answer: data, lines for a terminal, Markdown."""

from clew.graph.ops.answer.answer import Answer
from clew.graph.ops.answer.steps import AnswerStep
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.server.protocol.views.answer import ErrorCause
from clew.server.text.answer import cause_lines, code, how_sure, lines, markdown, told, verdict_of


def bank(run):
    thread = run.process("bank").thread("pay-rent")
    thread.enter("bank:transfer").log("timed out", level=40, function="bank:transfer", line=11)
    return run.graph()


def answer(**more):
    claims = (Claim("pay-rent waited for dst.lock.", (0, 1)), Claim("a callback held it.", (1,)))
    return Answer(**{"event": 1, "verdict": claims, "certainty": "recorded", **more})


def test_answer_lines_begin_with_limits_then_verdict_then_certainty(run):
    verdict = verdict_of(bank(run), answer(limits=("trio is not followed.",)))
    assert list(lines(verdict)) == [
        "ERROR timed out",
        "",
        "trio is not followed.",
        "pay-rent waited for dst.lock. A callback held it.",
        "How sure: recorded (events 0, 1)",
    ]


def test_answer_certainty_tells_basis_and_remedy(run):
    graph = bank(run)
    inferred = verdict_of(graph, answer(certainty="inferred", basis="the frames of its thread"))
    assert how_sure(inferred) == "How sure: inferred from the frames of its thread (events 0, 1)"
    unknown = verdict_of(graph, answer(certainty="unknown", basis="waits were not recorded", remedy="clew run -- x"))
    assert how_sure(unknown) == "How sure: not known: waits were not recorded (`clew run -- x`)"
    assert told(unknown)[-1] == "How sure: not known: waits were not recorded (clew run -- x)"


def test_answer_steps_have_a_heading_for_each_group_and_a_reason_for_each_step(run):
    steps = (
        AnswerStep(1, Reason.CALL, "", "in pay-rent"),
        AnswerStep(0, Reason.RESOURCE, "it waited", "in refund, 2 s earlier", folded=2),
        AnswerStep(0, Reason.SCHEDULING, "it began", "in refund, 2 s earlier"),
    )
    verdict = verdict_of(bank(run), answer(steps=steps))
    assert [step.reason for step in verdict.steps] == ["", "resource", "scheduling"]
    assert list(lines(verdict))[4:] == [
        "",
        "in pay-rent",
        "  +0.000000 s              /src/bank.py:11  ERROR timed out",
        "in refund, 2 s earlier",
        "  +0.000000 s  resource    /src/bank.py:10  it waited (through 2 library steps)",
        "  +0.000000 s  scheduling  /src/bank.py:10  it began",
    ]


def test_answer_lines_fold_at_the_width_of_a_terminal(run):
    verdict = verdict_of(bank(run), answer(verdict=(Claim("word " * 40 + "end.", ()),)))
    folded = list(lines(verdict, 40))
    assert max(map(len, folded)) <= 40
    assert " ".join(folded).count("word") == 40


def test_answer_text_of_the_program_cannot_control_the_terminal(run):
    claims = (Claim("it held \x1b[31mlock.", (0,)),)
    verdict = verdict_of(bank(run), answer(verdict=claims, limits=("a\x07b",)))
    assert not any(ord(sign) < 32 for line in lines(verdict) for sign in line)


def test_answer_markdown_escapes_names_and_keeps_code(run):
    claims = (Claim("<b> waited for self._lock of `x` | [y](z), @alice.", (0,)),)
    steps = (AnswerStep(0, Reason.DATA, "put *a* #1", "in GET /items/<id>"),)
    verdict = verdict_of(bank(run), answer(verdict=claims, steps=steps, more_steps=3))
    text = markdown(verdict)
    assert verdict.markdown == text
    assert "\\<b\\> waited for self.\\_lock of \\`x\\` \\| \\[y\\](z), @\u200balice." in text
    assert "In GET /items/\\<id\\>:\n\n1. put \\*a\\* \\#1 (data, +0.000000 s, `/src/bank.py:10`)" in text
    assert text.endswith("\n\n3 more steps not shown.\n")


def test_answer_markdown_code_contains_any_backticks():
    assert code("a`b``c") == "``` a`b``c ```"
    assert code("app.py:3") == "`app.py:3`"


def test_answer_data_has_the_diagnosis_and_other_findings(run):
    found = Finding("wait-circle", Reason.RESOURCE, (Claim("A circle.", (0, 1)),), ())
    other = Finding("lost-wake-up", Reason.DATA, (Claim("Lost.", (1,)),), (), "inferred", "the waits")
    verdict = verdict_of(bank(run), answer(finding=found, others=(other,)))
    assert verdict.diagnosis == "wait-circle"
    assert [(one.diagnosis, one.text, one.certainty, one.events) for one in verdict.others] == [
        ("lost-wake-up", "Lost.", "inferred", [1])
    ]


def test_cause_lines_tell_how_many_errors_were_traced(run):
    verdict = verdict_of(bank(run), answer())
    cause = ErrorCause(40, 3, 1e9, 3e9, 1, verdict)
    assert list(cause_lines(cause, "clew why --event 1")) == [
        "40 × ERROR timed out, from +1.000000 s to +3.000000 s (3 of them traced, the others look the same)",
        "  pay-rent waited for dst.lock. A callback held it.",
        "  How sure: recorded (events 0, 1)",
        "  look at one: `clew why --event 1`",
    ]
