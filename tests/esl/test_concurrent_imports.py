"""Any number of threads can import the modules of the language at once, as an editor's first requests do."""

import operator
import subprocess
import sys

import pytest

PROGRAM = """
import importlib, sys, threading
sys.setswitchinterval(1e-6)
names = ["syntax.parser", "", "syntax.formatter", "checker.quick_fixes"]
names += ["assist." + name for name in ("hover", "semantic_tokens", "outline", "references", "completion")]
ready, failed = threading.Barrier(len(names)), []
def ask(name):
    ready.wait()
    try:
        importlib.import_module(f"clew.esl.{name}".rstrip("."))
        from clew import esl
        from clew.esl.syntax.parser import parse
        esl.check, esl.SourceIndex, esl.Span, esl.render
    except BaseException as error:
        failed.append(f"{name}: {error!r}")
threads = [threading.Thread(target=ask, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
sys.exit("; ".join(failed) or 0)
"""


@pytest.mark.parametrize("attempt", range(3))
def test_esl_package_imported_by_threads_at_once_is_complete(attempt: int) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_esl_package_has_every_name_of_its_all() -> None:
    from clew import esl

    assert [name for name in esl.__all__ if not hasattr(esl, name)] == []
    with pytest.raises(AttributeError, match="it has Checked, Compiled"):
        operator.attrgetter("nothing")(esl)
