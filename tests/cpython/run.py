"""Run CPython's own tests twice, plain and recorded, and report where the outcomes differ.

    python tests/cpython/run.py                     the default list, the better part of an hour
    python tests/cpython/run.py test_generators test_asyncio.test_tasks
    python tests/cpython/run.py --jobs 2 test_asyncio      each of its modules, two at a time
    python tests/cpython/run.py --every ...         print each test's outcome, not only the differences
    python tests/cpython/run.py --also FOLDER ...   look there for test modules that this interpreter lacks

The recorded run starts as `clew run` starts a program, with every adapter and log lines. Its plan names every function: the
functions of the standard library and of unittest are rewritten, too, and child processes of the tests are recorded. Modules
with a difference run again, both ways, because some of CPython's tests fail occasionally without clew. The exit code is 1 if
no recorded outcome of a test equals one without clew and ALLOWED does not explain it, or if a module could not be compared
because this interpreter lacks it or cannot load it.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

DEFAULT = """
test_generators test_generator_stop test_coroutines test_asyncgen test_yield_from test_genexps test_contextlib
test_contextlib_async test_with test_exceptions test_exception_group test_exception_hierarchy test_exception_variations
test_baseexception test_except_star test_raise test_scope test_decorators test_listcomps
test_named_expressions test_patma test_super test_property test_descr test_descrtut test_funcattrs test_functools
test_call test_extcall test_keywordonlyarg test_positional_only_arg test_metaclass test_class test_isinstance test_abc
test_inspect test_types test_typing test_type_annotations test_type_params test_genericalias test_dataclasses test_enum
test_reprlib test_traceback test_warnings test_frame test_code test_opcache
test_sys_settrace test_sys_setprofile test_monitoring test_bdb test_pdb test_trace test_profile test_cprofile
test_pickle test_pickletools test_copy test_copyreg test_gc test_weakref test_weakset test_context
test_threading test_threading_local test_threadsignals test_thread test_threadedtempfile
test_queue test_sched test_signal test_atexit test_fork1 test_popen test_subprocess test_select test_selectors
test_concurrent_futures test_multiprocessing_fork test_multiprocessing_forkserver test_multiprocessing_spawn
test_multiprocessing_main_handling test_socket test_ssl test_socketserver test_httpservers test_httplib test_http_cookies
test_http_cookiejar test_wsgiref test_xmlrpc
test_logging test_import test_importlib test_runpy test_pkgutil test_zipimport test_linecache test_doctest test_unittest
test_code_module test_codeop test_cmd test_itertools test_json test_re test_textwrap test_configparser test_argparse
test_collections test_heapq test_operator test_string test_tempfile test_shutil test_pathlib test_csv test_decimal
test_fractions test_statistics test_random test_datetime test_calendar test_email test_html test_xml_etree test_ast
test_tokenize test_timeit test_cmd_line test_cmd_line_script test_sys test_builtin test_audit test_grammar test_tracemalloc
test_faulthandler
""".split()
SINCE = {"test_monitoring": (3, 12), "test_type_params": (3, 12)}
"""The first Python version of tests that earlier versions lack."""

ASYNCIO = """
test_base_events test_buffered_proto test_context test_eager_task_factory test_events test_free_threading test_futures
test_futures2 test_locks test_pep492 test_proactor_events test_protocols test_queues test_runners test_selector_events
test_sendfile test_server test_sock_lowlevel test_ssl test_sslproto test_staggered test_streams test_subprocess
test_taskgroups test_tasks test_threads test_timeouts test_transports test_unix_events test_waitfor
""".split()

_INSTRUCTIONS = "it lists single instructions, by their place; probes are some more of them"
_HEADER = "a request carries a `traceparent` header, by which its server knows the cause"
ALLOWED = {
    **dict.fromkeys(
        [
            "test.test_httplib.BasicTest.test_send_file",
            "test.test_httplib.BasicTest.test_send_iter",
            "test.test_httplib.HeaderTests.test_ipv6host_header",
            "test.test_xmlrpc.HeadersServerTestCase.test_header",
            "test.test_xmlrpc.HeadersServerTestCase.test_header_empty",
            "test.test_xmlrpc.HeadersServerTestCase.test_header_items",
            "test.test_xmlrpc.HeadersServerTestCase.test_header_many",
            "test.test_xmlrpc.HeadersServerTestCase.test_header_tuple",
        ],
        _HEADER,
    ),
    **dict.fromkeys(
        [
            "test.test_monitoring.TestBranchAndJumpEvents.test_except_star",
            "test.test_monitoring.TestInstallIncrementally.test_call_then_instruction",
            "test.test_monitoring.TestInstallIncrementally.test_instruction_then_call",
            "test.test_monitoring.TestLineAndInstructionEvents.test_c_call",
            "test.test_monitoring.TestLineAndInstructionEvents.test_simple",
            "test.test_monitoring.TestLineAndInstructionEvents.test_try_except",
            "test.test_monitoring.TestLineAndInstructionEvents.test_with_restart",
        ],
        _INSTRUCTIONS,
    ),
    "test.test_monitoring.SimulateProfileTest.test_balanced": "a tool that asks for it sees that an exception which leaves a "
    "function was handled and raised again there, which is how its end is recorded",
    "test.test_sys.SizeofTest.test_objecttypes": "the frame of a function with probes has room for one of them on its stack",
    "test.test_import.PycRewritingTests.test_foreign_code": "it marshals the code of a loaded function; a probe is an "
    "object, which marshal does not take (pickle does)",
    "test.test_tracemalloc.TestTracemallocEnabled.test_snapshot": "on 3.13 it fails without clew when run alone: it takes "
    "the second of all traces for one of unittest's, which lie deeper",
    "test.test_sys_setprofile.ProfileHookTestCase.test_unfinished_generator": "from 3.13 on an unfinished generator without "
    "handlers is closed without being run; one with probes is run, as before, so that its end is recorded",
}
"""Tests that may differ, with the reason. The list above excludes test_dis, test_compile and test_peepholer, because they test
the compiler's bytecode of their own functions."""

LEFT_OUT = {
    "test.test_socket.ThreadedVSOCKSocketStreamTest": "it waits for ever in a virtual machine that cannot call itself",
}
"""Tests, or test classes, that are run neither plain nor recorded."""

TRIES = 3
FAILED = "process failed"
ALSO = "CLEW_CPYTHON_ALSO"
WRITES = "CLEW_CPYTHON_WRITES"
"""Environment variable with the folder of --also, for child processes of tests, which load this file, too."""


def chosen_tests(names: list[str]) -> list[str]:
    """Return the named tests, else the list for this version, with each existing module of asyncio's separately."""
    asyncio = [f"test_asyncio.{name}" for name in ASYNCIO if present(f"test_asyncio.{name}")]
    default = [name for name in DEFAULT if sys.version_info >= SINCE.get(name, (3, 11))]
    return [
        each
        for name in names or [*default, "test_asyncio"]
        for each in (asyncio or [name] if name == "test_asyncio" else [name])
    ]


def present(name: str) -> bool:
    """Return whether the module or package of tests exists, or a module that may have such a class or test."""
    import test

    parts = name.split(".")
    return any(
        Path(folder, *parts, "__init__.py").exists()
        or any(Path(folder, *parts[:end]).with_suffix(".py").exists() for end in range(1, len(parts) + 1))
        for folder in test.__path__
    )


def add_other_folder() -> None:
    """Add the folder of `--also`, if given, to the places where missing test modules are searched."""
    if folder := os.environ.get(ALSO):
        import test

        test.__path__.append(folder)


class Outcomes(unittest.TestResult):
    """Collect each test's outcome: the worst of its own and its subtests'."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, str] = {}
        self.details: dict[str, str] = {}

    def _note(self, test: Any, outcome: str, error: Any = None) -> None:
        name = test.id()
        if name in self.outcomes and outcome in ("ok", "skipped"):
            return
        self.outcomes[name] = outcome
        if error is not None:
            self.details[name] = self._exc_info_to_string(error, test)  # type: ignore[attr-defined]  # private to unittest

    def addSuccess(self, test: Any) -> None:
        self._note(test, "ok")

    def addFailure(self, test: Any, err: Any) -> None:
        self._note(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:
        self._note(test, "error", err)

    def addSkip(self, test: Any, reason: str) -> None:
        self._note(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._note(test, "failed as expected")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._note(test, "unexpectedly ok")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._note(test, "failed", err)


def recording(folder: Path) -> dict[str, str]:
    """Return the environment of a process that records into a new run below `folder`, as `clew run` makes it."""
    from clew.instrument.run_environment import environment
    from clew.records.plan.default_plan import ADAPTERS
    from clew.records.plan.plan import LogCapture, Plan, Rule, Target, dump
    from clew.records.run.directory import create_run

    # No budget: every call must be recorded, not only counted.
    plan = Plan(rules=(Rule(Target("**", "**")),), adapters=ADAPTERS, logs=LogCapture(), quota=256 << 20)
    plan = plan._replace(writes=WRITES in os.environ)
    run, _ = create_run(folder, name="cpython", command=[], spec="", plan=dump(plan))
    return environment(run)


def child(mode: str, output: Path, name: str, selected: str) -> None:
    from test import support

    support.verbose = 0
    # Tests use no remote hosts; some start a local server and call it the network.
    support.use_resources = ["network"] if name == "test_socketserver" else []
    result = Outcomes()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        loader = unittest.TestLoader()
        try:
            tests = loader.loadTestsFromName(f"test.{name}")
        except unittest.SkipTest:
            tests = unittest.TestSuite()
        if selected:
            tests = unittest.TestSuite(found for found in _flat(tests) if selected in found.id())
        for out in LEFT_OUT:
            if out.startswith(f"test.{name}."):
                tests = unittest.TestSuite(found for found in _flat(tests) if not found.id().startswith(out))
        tests.run(result)
    report: dict[str, Any] = {"outcomes": result.outcomes, "details": result.details, "functions": 0}
    report["not loaded"] = [str(error) for error in loader.errors]
    if mode == "recorded":
        from clew.instrument.probes.sites import all_sites
        from clew.instrument.recorder import lifecycle

        report["functions"], report["recorder"] = len(all_sites()), "c"
        lifecycle.stop()
    output.write_text(json.dumps(report))
    sys.stdout.flush()
    os._exit(0)  # threads and the like that a test left running do not matter


def _flat(tests: Any) -> Any:
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def run(mode: str, name: str, selected: str, timeout: float) -> dict[str, Any]:
    """Return the outcomes of one test module; if the process itself fails, the outcome of one placeholder test."""
    with (
        tempfile.TemporaryDirectory(prefix="clew-cpython-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryDirectory(prefix="clew-run-", ignore_cleanup_errors=True) as run_folder,
    ):
        output = Path(folder, "outcomes.json")
        environment = recording(Path(run_folder)) if mode == "recorded" else None
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--child", mode, str(output), name, selected],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
                cwd=folder,
                env=environment,
            )
            failure = f"exit code {done.returncode}: " + done.stderr.decode(errors="replace")[-2000:]
        except subprocess.TimeoutExpired:
            failure = f"no end after {timeout:.0f} s"
        report: dict[str, Any] = (
            json.loads(output.read_text())
            if output.exists()
            else {"outcomes": {f"test.{name}": FAILED}, "details": {f"test.{name}": failure}, "functions": 0}
        )
        report["seconds"] = time.monotonic() - begin
        traces = [path.stat().st_size for path in Path(run_folder).rglob("*.clew") if path.is_file()]
        report["bytes"], report["processes"] = sum(traces), len(traces)
        return report


class Comparison:
    """Outcomes of one module's tests, plain and recorded, in all tries."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.reports: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def add(self, plain: dict[str, Any], recorded: dict[str, Any]) -> None:
        self.reports.append((plain, recorded))

    def tests(self) -> list[str]:
        return sorted({test for pair in self.reports for report in pair for test in report["outcomes"]})

    def outcomes(self, test: str) -> tuple[list[str], list[str]]:
        """Return its distinct outcomes without clew, and those when recorded."""
        plain, recorded = (
            list(dict.fromkeys(pair[which]["outcomes"].get(test, "not run") for pair in self.reports))
            for which in (0, 1)
        )
        return plain, recorded

    def differing(self) -> dict[str, tuple[list[str], list[str]]]:
        found = {test: self.outcomes(test) for test in self.tests()}
        return {test: pair for test, pair in found.items() if set(pair[0]).isdisjoint(pair[1])}

    def not_compared(self) -> str:
        """Return why the module was not compared, if it fails in both runs."""
        if not self.reports:
            return "not present in this interpreter"
        plain = self.reports[0][0]
        if errors := plain.get("not loaded"):
            return "could not be loaded: " + errors[0].strip().splitlines()[-1]
        if plain["outcomes"].get(f"test.{self.name}") == FAILED:
            return "failed without clew: " + plain["details"][f"test.{self.name}"]
        if plain["outcomes"] and set(plain["outcomes"].values()) <= {"failed", "error"}:
            why = next(iter(plain["details"].values()), "").strip().splitlines()[-1:]
            return "no test of it passes without clew: " + "".join(why)
        return ""

    def unexplained(self) -> dict[str, tuple[list[str], list[str]]]:
        return {test: pair for test, pair in self.differing().items() if test not in ALLOWED}

    def tell(self, *, every: bool) -> None:
        if self.not_compared():
            print(f"FAILED {self.name}: {self.not_compared()}", flush=True)
            return
        plain, recorded = self.reports[0]
        if not self.tests():
            print(f"{self.name}: skips itself, or has no such test", flush=True)
            return
        ok = sum(outcome == "ok" for outcome in plain["outcomes"].values())
        again = f", {len(self.reports)} tries" if len(self.reports) > 1 else ""
        print(
            f"{self.name}: {len(self.tests())} tests, {ok} ok without clew, {len(self.differing())} differ{again}"
            f" ({recorded['functions']} functions rewritten, {recorded['processes']} processes, "
            f"{recorded['bytes'] >> 20} MB; {plain['seconds']:.1f} s, recorded {recorded['seconds']:.1f} s)",
            flush=True,
        )
        if every:
            for test in self.tests():
                print(f"    {test}: {' / '.join(map(', '.join, self.outcomes(test)))}")
        for test, (was, now) in self.differing().items():
            reason = ALLOWED.get(test)
            told = f"{test}: {', '.join(was)} without clew, {', '.join(now)} recorded"
            print(f"  {told} (allowed: {reason})" if reason else f"FAILED {told}")
            if reason is None:
                details = [
                    report["details"][test]
                    for pair in self.reports
                    for report in pair[::-1]
                    if test in report["details"]
                ]
                print("    " + "".join(details[:1]).replace("\n", "\n    "), flush=True)


def compare(name: str, selected: str, timeout: float) -> Comparison:
    found = Comparison(name)
    for _ in range(TRIES if present(name) else 0):
        found.add(*(run(mode, name, selected, timeout) for mode in ("plain", "recorded")))
        if found.not_compared() or not found.unexplained():
            break
    return found


def main() -> int:
    # A shell's background processes ignore SIGINT, which some of the tests send to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="test modules below Lib/test; default: the list in this file")
    parser.add_argument("--match", default="", metavar="TEXT", help="only tests whose id contains TEXT")
    parser.add_argument(
        "--also", default="", metavar="FOLDER", help="another Lib/test, for test modules that this one lacks"
    )
    parser.add_argument("--every", action="store_true", help="print each test's outcomes")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for one run of one module")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="modules that are run at a time")
    parser.add_argument("--writes", action="store_true", help="also record what functions write")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the differences and counts there")
    options = parser.parse_args()
    if options.writes:
        os.environ[WRITES] = "1"
    if options.also:
        os.environ[ALSO] = os.path.abspath(options.also)
        add_other_folder()
    different: dict[str, tuple[list[str], list[str]]] = {}
    missing: dict[str, str] = {}
    total = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        comparing = functools.partial(compare, selected=options.match, timeout=options.timeout)
        for found in pool.map(comparing, chosen_tests(options.tests)):
            found.tell(every=options.every)
            if why := found.not_compared():
                missing[found.name] = why
            else:
                total += len(found.tests())
                different.update(found.unexplained())
    print(f"{total} tests, {len(different)} with another outcome")
    if missing:
        print("not compared: " + ", ".join(f"{name} ({why})" for name, why in missing.items()))
    if options.json:
        options.json.write_text(
            json.dumps({"tests": total, "different": different, "missing": missing}, indent=1) + "\n"
        )
    return 1 if different or missing else 0


add_other_folder()
if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), *sys.argv[4:])
    sys.exit(main())
