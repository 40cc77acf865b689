"""Really recorded programs: imported modules are recorded, and the program behaves as without clew."""

from __future__ import annotations

import sys
import textwrap
import zipfile

import pytest

from clew.records.plan.plan import Action, Rule, Target

APP = """
import sys
import pkg.inner
from pkg.inner import work

def main():
    return work(3)

if __name__ == "__main__":
    print(__name__, __file__, __spec__ and __spec__.name, sys.argv[1:], main())
"""
INNER = """
'''Doc.'''
def work(n):
    if n: return work(n - 1)
    return helper()
helper = lambda: 'done'
class Box:
    def get(self): return 1
"""


@pytest.fixture
def program(workshop):
    workshop.write(app=APP, pkg__SLASH____init__="", pkg__SLASH__inner=INNER)
    return workshop


def test_import_hook_records_functions_of_imported_module(program, scope):
    run = program.recorded([scope("pkg.**", "work")], "app.py")
    assert run.functions() == {"pkg.inner:work"}
    assert run.calls() == ["ENTER pkg.inner:work"] * 4 + ["EXIT pkg.inner:work"] * 4
    assert run.done.returncode == 0 and "done" in run.out


def test_import_hook_pattern_below_a_module_includes_the_module(program, scope):
    run = program.recorded([scope("app.**", "main"), scope("pkg.inner.**", "work")], "app.py")
    assert run.functions() == {"app:main", "pkg.inner:work"}


def test_import_hook_rule_with_excepts_leaves_them_out(program):
    rule = Rule(Target("pkg.**", "**"), excepts=(Target("**", "Box.*"), Target("**", "<lambda>")))
    run = program.recorded([rule], "app.py")
    assert run.functions() == {"pkg.inner:work"}


def test_import_hook_root_leaves_out_other_files(program):
    inside = Rule(Target("**", "**", root=str(program.folder / "pkg")))
    assert program.recorded([inside], "app.py").functions() == {
        "pkg.inner:work",
        "pkg.inner:<lambda>",
        "pkg.inner:Box.get",
    }


@pytest.mark.parametrize("command", [["app.py", "x"], ["./pkg/../app.py"], ["-m", "app", "y"], ["-X", "dev", "app.py"]])
def test_import_hook_records_main_module_under_its_own_name(program, scope, command):
    run = program.recorded([scope("app")], *command)
    assert run.functions() == {"app:main"}
    assert run.calls() == ["ENTER app:main", "EXIT app:main"]
    plain = program.plain(*command)
    assert (run.out, run.err) == (plain.stdout, plain.stderr)
    assert run.out.startswith("__main__ ")


def test_import_hook_records_package_run_with_m_as_its_main_module(program, scope):
    program.write(pkg__SLASH____main__="def f(): return 5\nprint(f())\n")
    run = program.recorded([scope("pkg.__main__")], "-m", "pkg")
    assert run.calls() == ["ENTER pkg.__main__:f", "EXIT pkg.__main__:f"]


def test_import_hook_runs_folder_and_archive_as_untraced(program, scope):
    program.write(folder__SLASH____main__="def f(): return 8\nprint(f())\n")
    archive = program.folder / "app.pyz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("__main__.py", "def f(): return 6\nprint(f())\n")
        file.writestr("other.py", "def g(): return 7\n")
    assert program.recorded([scope("**")], "app.pyz").out == "6\n"
    run = program.recorded([scope("**", "f")], "folder")
    assert run.out == "8\n" and run.functions() == {"__main__:f"}


@pytest.mark.parametrize(
    "command, text", [(["-c", "def f(): return 5\nprint(f())"], None), (["-"], "def f(): return 5\nprint(f())\n")]
)
def test_import_hook_does_not_record_code_without_a_file(program, scope, command, text):
    run = program.recorded([scope("**", "f")], *command, input=text)
    assert run.out == "5\n" and run.functions() == set()


def test_import_hook_script_with_syntax_error_fails_as_untraced(program, scope):
    program.write(broken="def f(:\n", outer="import broken\n")
    for script in ("broken.py", "outer.py"):
        plain, run = program.plain(script), program.recorded([scope("**", "f")], script)
        assert (run.done.returncode, run.out, run.err) == (plain.returncode, plain.stdout, plain.stderr)
        assert "SyntaxError" in run.err


def test_import_hook_failing_program_shows_untraced_traceback(program, scope):
    program.write(
        fails="import pkg.inner\ndef f(x):\n    return pkg.inner.explode(x)\nif __name__ == '__main__':\n    f({})\n",
        imports_failing="import fails2\n",
        fails2="def g(): raise ValueError('at import')\ng()\n",
        missing="from pkg.inner import nothing\n",
    )
    program.write(pkg__SLASH__inner=INNER + "\ndef explode(x):\n    return [1,\n            x['a'] + x['b']]\n")
    for script in ("fails.py", "imports_failing.py", "missing.py"):
        plain, run = program.plain(script), program.recorded([scope("pkg.**"), scope("fails*")], script)
        assert run.err == plain.stderr and run.done.returncode == plain.returncode == 1


def test_import_hook_modules_have_attributes_of_untraced_ones(program, scope):
    program.write(
        looks=textwrap.dedent("""
            import importlib.resources, importlib.util, inspect, pickle, sys
            import pkg.inner as m
            print(type(m.__loader__).__name__, m.__spec__.origin, m.__file__, m.__cached__, m.__spec__.cached)
            names = [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path]
            print([name for name in names if name != "_PatchingFinder"], len(sys.path_hooks))
            print(inspect.getsource(m.work), m.__loader__.get_source("pkg.inner") == open(m.__file__).read())
            print(importlib.resources.files("pkg").joinpath("data.txt").read_text())
            print(m.__loader__.get_resource_reader("pkg.inner") is not None, m.__loader__.is_package("pkg.inner"))
            print(pickle.loads(pickle.dumps(m.Box)) is m.Box, m.__doc__, inspect.signature(m.work))
            again = importlib.util.find_spec("pkg.inner")
            print(again == m.__spec__, again.loader == m.__loader__)
            import space.inside
            print(type(space.__path__).__name__, space.inside.f())
            print(importlib.reload(m).work(1))
            spec = importlib.util.spec_from_file_location("by_hand", m.__file__)
            by_hand = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(by_hand)
            print(by_hand.work(0))
        """),
        space__SLASH__inside="def f(): return 'inside'\n",
    )
    (program.folder / "pkg" / "data.txt").write_text("resource")
    plain = program.plain("looks.py")
    assert plain.returncode == 0, plain.stderr
    run = program.recorded([scope("pkg.**"), scope("space.**"), scope("by_hand")], "looks.py")
    assert (run.out, run.err) == (plain.stdout, plain.stderr)
    assert {"pkg.inner:work", "space.inside:f", "by_hand:work"} <= run.functions()


def test_import_hook_leaves_cached_bytecode_unchanged(program, scope):
    script = "import pkg.inner, marshal\ndata = open(pkg.inner.__cached__, 'rb').read()[16:]\n"
    script += "print(len(marshal.dumps(marshal.loads(data))))\n"
    program.write(cache=script)
    recorded = program.recorded([scope("pkg.**")], "cache.py").out
    assert recorded == program.plain("cache.py").stdout
    again = program.recorded([scope("pkg.**")], "cache.py")
    assert again.out == recorded and "pkg.inner:work" in again.functions()


def test_import_hook_rewrites_modules_imported_before(program, scope):
    program.write(early="import posixpath, os\nprint(posixpath.relpath('a/../b'), os.fspath('x'))\n")
    run = program.recorded([scope("posixpath", "relpath")], "early.py")
    assert run.out == "b x\n"
    assert "posixpath:relpath" in run.functions()


def test_import_hook_finds_functions_wrapped_by_decorators(program, scope):
    program.write(
        decorated=textwrap.dedent("""
            import functools, contextlib
            @functools.lru_cache
            def cached(n): return n
            @contextlib.contextmanager
            def managed():
                yield 3
            class C:
                @functools.cached_property
                def p(self): return 1
                @staticmethod
                def s(): return 2
        """),
        uses="import sys\nimport decorated as d\nfrom clew.instrument.probes.install import import_hook\n"
        "from clew.records.plan.plan import Plan, Rule, Target\n"
        "import_hook.install(Plan(rules=(Rule(Target('decorated', '**')),)))\n"
        "with d.managed() as m: print(d.cached(1), m, d.C().p, d.C.s())\n",
    )
    run = program.recorded([scope("nothing")], "uses.py")
    assert run.out == "1 3 1 2\n"
    assert run.functions() == {"decorated:cached", "decorated:managed", "decorated:C.p", "decorated:C.s"}


@pytest.mark.slow
def test_import_hook_records_tests_with_assertions_rewritten_by_pytest(program, scope):
    program.write(
        test_app="import app\n\ndef test_works():\n    assert app.main() == 'done'\n\n"
        "def test_fails():\n    left = [1, 2]\n    assert left == [1, 3]\n",
        conftest="import pytest\n\n@pytest.fixture\ndef value(): return 1\n",
    )
    for _ in range(2):  # the second time from pytest's cache
        run = program.recorded(
            [scope("test_app"), scope("app"), scope("conftest")], "-m", "pytest", "-q", "-p", "no:cacheprovider"
        )
        assert "assert [1, 2] == [1, 3]" in run.out and "1 failed, 1 passed" in run.out
        assert {"test_app:test_works", "test_app:test_fails", "app:main", "conftest:value"} <= run.functions()
        assert "UNWIND test_app:test_fails" in run.calls()


def test_import_hook_records_main_script_of_multiprocessing_child(program, scope):
    program.write(
        spawns=textwrap.dedent("""
            import multiprocessing
            def square(x): return x * x
            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    print(pool.map(square, [2, 3]))
        """)
    )
    run = program.recorded([scope("spawns")], "spawns.py")
    assert run.out == "[4, 9]\n"
    entered = [found for found in run.records.processes for event in found.events() if event.kind == 1]
    assert len(entered) == 2 and len({found.header.pid for found in entered}) == 1


def test_import_hook_code_pickled_by_value_runs_without_clew(program, scope):
    program.write(
        ships=textwrap.dedent("""
            import pickle, pkg.inner, sys
            constants = pickle.loads(pickle.dumps(pkg.inner.work.__code__.co_consts))
            code = pkg.inner.work.__code__.replace(co_consts=constants)
            print(any("clew" in type(c).__module__ for c in constants))
            function = type(pkg.inner.work)(code, {"work": lambda n: n, "helper": lambda: 1})
            print(function(3), function(0))
        """)
    )
    actions = [
        Action("send", "start", "m", key=["name", "n"]),
        Action("payload", "finish", "p", key=["name", "result"]),
    ]
    run = program.recorded([scope("pkg.inner", "work", *actions)], "ships.py")
    assert run.err == "" and run.out == "False\n2 1\n"


def test_import_hook_warning_in_recorded_module_names_the_same_line(program, scope):
    program.write(
        warns="import warnings, sys\ndef f(): warnings.warn('careful', stacklevel=2)\ndef g():\n    f()\ng()\n"
    )
    plain, run = program.plain("warns.py"), program.recorded([scope("warns")], "warns.py")
    assert run.err == plain.stderr and "warns.py:4" in run.err


def test_import_hook_site_has_file_and_lines(program, scope):
    run = program.recorded([scope("pkg.inner", "work")], "app.py")
    (site,) = run.records.processes[0].sites.values()
    assert site.file == str(program.folder / "pkg" / "inner.py")
    assert (site.line, site.end_line, site.kind, site.rule) == (3, 5, "function", 0)


def test_import_hook_for_main_script_is_removed_when_it_runs(program, scope):
    program.write(hooked="from clew.instrument.probes import _entry\nprint(_entry.watching())\ndef f(): pass\n")
    run = program.recorded([scope("hooked")], "hooked.py")
    assert run.out == "False\n" and run.functions() == {"hooked:f"}


def test_import_hook_without_c_module_is_noted(program, scope):
    program.write(
        blocks="import sys\nimport clew.instrument.probes as probes\ndel probes._entry\n"
        "sys.modules[probes.__name__ + '._entry'] = None\n"
        "from clew.instrument.probes.install import scripts as entry\n"
        "sys.argv = ['app.py']\nprint(entry.install())\n"
    )
    run = program.recorded([scope("nothing")], "blocks.py")
    assert run.out == "False\n"
    assert any("functions of scripts are not recorded" in note for note in run.notes())
    assert sys.version_info >= (3, 11)
