"""Start-up: in any environment the program runs as without clew, and it is recorded from its first line."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clew.records.format.event import Kind
from clew.records.plan.default_plan import ADAPTERS as EVERY_ADAPTER
from clew.records.plan.plan import Plan, dump

HEAVY = (
    "numpy",
    "pyarrow",
    "lark",
    "click",
    "rich",
    "pygls",
    "lsprotocol",
    "wrapt",
    "opentelemetry",
    "asyncio",
    "logging",
)


def test_startup_of_empty_program_loads_no_heavy_modules(record):
    run = record(f"import sys; print([name for name in {HEAVY} if name in sys.modules])")
    assert run.stdout == "[]\n" and len(run.processes) == 1


def test_startup_loads_only_modules_of_standard_library_and_clew(record):
    # The plan of `clew run` without a spec: every adapter, and probes in a module that is imported.
    source = """
        import sys, imported
        imported.called()
        roots = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names - {"__main__", "imported"}
        print(sorted(roots), sorted({".".join(name.split(".")[:2]) for name in sys.modules if name.startswith("clew.")}))
        """
    plain, recorded = (
        record(source, adapters=EVERY_ADAPTER, files={"imported.py": "def called(): pass"}, environment=environment)
        for environment in ({"CLEW_RUN": "", "PYTHONPATH": ""}, {})
    )
    ours, parts = recorded.stdout.split("] [")
    assert set(ast.literal_eval(ours + "]")) - set(ast.literal_eval(plain.stdout.split("] [")[0] + "]")) == {"clew"}
    assert parts == "'clew.instrument', 'clew.records']\n"
    assert {placed.site.qualname for placed in recorded.of(Kind.ENTER)} == {"called"}


def test_startup_compiles_no_annotations_of_named_tuples(record):
    # `typing` compiles each annotation that is a string; under `from __future__ import annotations` each one is.
    source = """
import sys
from typing import ForwardRef
ours = [module for name, module in sys.modules.items() if name.startswith("clew.")]
rows = {value for module in ours for value in vars(module).values() if isinstance(value, type) and hasattr(value, "_fields")}
print(len(rows) > 10, [row for row in rows if any(isinstance(kind, ForwardRef) for kind in row.__annotations__.values())])
"""
    assert record(source).stdout == "True []\n"


def test_startup_leaves_paths_and_modules_unchanged(record):
    source = """
        import os, sys
        print(sys.path, "sitecustomize" in sys.modules, sys.argv, __file__, sorted(sys.path_importer_cache) != [])
        print([path for path in sys.path_importer_cache if path.endswith("instrument/startup")])
        print(sys.flags, __spec__, __name__)
        """
    assert (
        record(source, "a", "-b").stdout
        == record(source, "a", "-b", environment={"CLEW_RUN": "", "PYTHONPATH": ""}).stdout
    )


def test_startup_runs_sitecustomize_of_the_user(record):
    run = record(
        """
        import sys, sitecustomize
        print(sitecustomize.__file__ == sys.argv[1] + "/sitecustomize.py", sitecustomize.VALUE)
        """,
        "lib",
        environment={"PYTHONPATH": os.pathsep.join((_startup(), "lib"))},
        files={
            "lib/sitecustomize.py": "import sys\nVALUE = 5\n"
            "print('mine', __name__, [p for p in sys.path if p.endswith('instrument/startup')])\n"
        },
    )
    assert run.stdout.splitlines()[0] == "mine sitecustomize []"
    assert run.stdout.splitlines()[1].endswith(" 5")
    assert len(run.processes) == 1


def test_startup_failing_sitecustomize_fails_as_untraced(record):
    files = {"lib/sitecustomize.py": "raise ValueError('mine')\n"}
    traced = record("print('ran')", environment={"PYTHONPATH": os.pathsep.join((_startup(), "lib"))}, files=files)
    untraced = record("print('ran')", environment={"PYTHONPATH": "lib", "CLEW_RUN": ""}, files=files)
    assert (traced.stdout, traced.stderr, traced.code) == (untraced.stdout, untraced.stderr, untraced.code)
    assert "ValueError: mine" in traced.stderr


@pytest.mark.parametrize("flag", ["-S", "-E", "-I"])
def test_startup_with_isolating_flag_runs_untraced(record, flag):
    run = record("print('ran')", command=[sys.executable, flag, "program.py"])
    assert (run.code, run.stdout, run.stderr, run.processes) == (0, "ran\n", "", [])


@pytest.mark.parametrize(
    ("source", "code", "last"),
    [
        ("import sys; sys.exit(7)", 7, None),
        ("import sys; sys.exit('text')", 1, None),
        ("raise ValueError('no')", 1, None),
        ("import os; print('x', flush=True); os._exit(9)", 9, None),
        ("raise KeyboardInterrupt", -2, None),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, None),
        ("def work(): 1 / 0\nwork()", 1, Kind.UNWIND),
        ("import atexit\ndef late(): print('late')\natexit.register(late)", 0, Kind.EXIT),
    ],
)
def test_startup_program_end_equals_untraced_run(record, source, code, last):
    traced, untraced = record(source), record(source, environment={"CLEW_RUN": ""})
    assert traced.code == untraced.code == code
    assert (traced.stdout, traced.stderr) == (untraced.stdout, untraced.stderr)
    assert len(traced.processes) == 1
    if last is not None:
        assert traced.events[-1].event.kind == last


def test_startup_records_before_a_kill_are_in_the_run(record):
    run = record("import os, signal\ndef work(): pass\nwork()\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert [placed.event.kind for placed in run.events] == [Kind.ENTER, Kind.EXIT]


def test_startup_with_unreadable_plan_prints_one_line_and_runs_untraced(record, tmp_path):
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "plan.json").write_text("{")
    for folder, word in ((broken, "not a probe plan"), (tmp_path / "missing", "No such file")):
        run = record("print('ran')", environment={"CLEW_RUN": str(folder)})
        assert run.stdout == "ran\n" and run.code == 0
        assert len(run.stderr.splitlines()) == 1 and run.stderr.startswith("clew: ") and word in run.stderr


def test_startup_with_unknown_adapter_notes_it_and_records(record):
    run = record("def work(): pass\nwork()", adapters=("threads", "telepathy"))
    assert run.code == 0 and run.stderr == ""
    (process,) = run.processes
    assert any("telepathy" in note.text for note in process.notes)
    assert len(run.of(Kind.ENTER)) == 1


def test_startup_in_interpreter_without_clew_prints_one_line(tmp_path):
    base = Path(sys._base_executable)
    run = tmp_path / "run"
    run.mkdir()
    environment = {"PATH": os.environ["PATH"], "CLEW_RUN": str(run), "PYTHONPATH": _startup()}
    code = "import subprocess, sys; print('ran', flush=True); subprocess.run([sys.executable, '-c', 'print(1)'])"
    done = subprocess.run([base, "-s", "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "ran\n1\n" and done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: ") and str(base) in line and "pip install clew" in line


def test_startup_with_broken_installation_prints_one_line(tmp_path):
    run, package = tmp_path / "run", tmp_path / "clew" / "instrument"
    run.mkdir()
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").touch()
    (package / "bootstrap.py").write_text("import sys\nsys.not_of_this_version\n")
    path = os.pathsep.join([_startup(), str(tmp_path)])
    environment = {"PATH": os.environ["PATH"], "CLEW_RUN": str(run), "PYTHONPATH": path}
    command = [sys._base_executable, "-s", "-c", "print('ran')"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ran\n", 0)
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: clew cannot be imported (module 'sys' has no attribute 'not_of_this_version') by ")


WITHOUT_GIL = """
import runpy, subprocess, sys
sys._is_gil_enabled = lambda: False  # as a build without the GIL answers, before code of clew runs
try:
    runpy.run_path({file!r})
except ModuleNotFoundError:  # the program has no sitecustomize to continue with
    pass
print("ran", "clew" in sys.modules)
"""


def test_startup_without_gil_prints_one_line_and_runs_untraced(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    code = WITHOUT_GIL.format(file=str(Path(_startup(), "sitecustomize.py")))
    again = "if sys.argv[1:]: sys.exit(subprocess.run([sys.executable, __file__]).returncode)\n"
    (tmp_path / "free.py").write_text(code + again)
    environment = {"PATH": os.environ["PATH"], "CLEW_RUN": str(run), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, str(tmp_path / "free.py"), "and a child"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ran False\n" * 2, 0)
    what = f"{sys.executable} runs without the GIL, which recording relies on, so it is not recorded"
    assert done.stderr == f"clew: {what}; PYTHON_GIL=1 in the environment switches it on\n"
    assert list(run.glob("*.clew")) == []


def test_bootstrap_without_gil_is_refused_with_one_line(tmp_path):
    code = (
        "import sys; sys._is_gil_enabled = lambda: False\n"
        "from clew.instrument.bootstrap import start_from_environment\nprint(start_from_environment())"
    )
    (tmp_path / "plan.json").write_text(dump(Plan()))
    environment = {**os.environ, "CLEW_RUN": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("False\n", 0)
    (line,) = done.stderr.splitlines()
    assert line.startswith("clew: process ") and "is not recorded: it runs without the GIL" in line


def test_startup_and_adapters_installed_twice_record_once(record):
    run = record(
        """
        import threading
        from clew.instrument import bootstrap
        from clew.instrument.adapters import executors, queues, threads
        from clew.instrument.adapters.asyncio import tasks
        assert bootstrap.start_from_environment()
        for adapter in (executors, queues, tasks, threads): adapter.install()
        worker = threading.Thread(target=print, name="worker")
        worker.start()
        worker.join()
        import queue
        queues.install()
        jobs = queue.Queue()
        jobs.put(1)
        jobs.get()
        """
    )
    assert run.code == 0, run.stderr
    assert sorted(run.edges().values()) == [1, 1, 1]


def _startup() -> str:
    import clew.instrument.startup

    return str(Path(clew.instrument.startup.__file__).parent)


def test_startup_causes_no_encoding_warning(record):
    run = record("print(1)", command=[sys.executable, "-X", "warn_default_encoding", "-W", "error", "program.py"])
    assert (run.code, run.stdout, run.stderr) == (0, "1\n", "")
    assert len(run.processes) == 1
