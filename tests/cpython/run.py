"""Runs CPython's own tests twice, plain and with every function recorded, and says where the outcomes differ.

    python tests/cpython/run.py                     the default list, about a quarter of an hour
    python tests/cpython/run.py test_generators test_asyncio.test_tasks
    python tests/cpython/run.py --every ...         print each test's outcome, not only the differences

In the recorded run every function that any import brings in is rewritten, the standard library's and unittest's included,
and modules that were loaded before are too; the recorder writes a real trace. Exit code 1: a test has another outcome
than without, and ALLOWED does not say why.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import warnings
from pathlib import Path
from typing import Any

DEFAULT = """
test_generators test_generator_stop test_coroutines test_asyncgen test_yield_from test_genexps test_contextlib
test_contextlib_async test_with test_exceptions test_exception_group test_exception_hierarchy test_exception_variations
test_except_star test_raise test_scope test_closure test_decorators test_listcomps test_named_expressions test_patma
test_super test_property test_descr test_funcattrs test_functools test_call test_extcall test_keywordonlyarg
test_positional_only_arg test_inspect test_types test_typing test_dataclasses test_enum test_traceback test_warnings
test_frame test_code test_sys_settrace test_sys_setprofile test_bdb test_trace test_pickle test_copy test_gc test_weakref
test_context test_threading test_threadsignals test_thread test_queue test_sched test_logging test_import test_runpy
test_pkgutil test_zipimport test_linecache test_itertools test_json test_re test_textwrap test_configparser
""".split()

ASYNCIO = """
test_base_events test_buffered_proto test_context test_events test_futures test_futures2 test_locks test_pep492
test_protocols test_queues test_runners test_selector_events test_sslproto test_streams test_taskgroups test_tasks
test_threads test_timeouts test_transports test_unix_events test_waitfor
""".split()

ALLOWED = {
    "test.test_import.PycRewritingTests.test_foreign_code": "it marshals the code of a loaded function; a probe is an "
    "object, which marshal does not take (pickle does)",
    "test.test_sys_setprofile.ProfileHookTestCase.test_unfinished_generator": "from 3.13 on an unfinished generator without "
    "handlers is closed without being run; one with probes is run, as before, so that its end is recorded",
}
"""Tests that may differ, with the reason."""


def default_tests() -> list[str]:
    """What this interpreter's library has of the list; versions add, drop and move test modules."""
    import test

    folder = Path(next(iter(test.__path__)))
    names = [*DEFAULT, *(f"test_asyncio.{name}" for name in ASYNCIO)]
    return [name for name in names if any((folder / (name.replace(".", "/") + end)).exists() for end in (".py", ""))]


class Outcomes(unittest.TestResult):
    """Remembers each test's outcome: the worst of its own and its subtests'."""

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
            self.details[name] = self._exc_info_to_string(error, test)  # type: ignore[attr-defined]

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


def start_recording(folder: Path) -> None:
    from clew.instrument.probes import import_hook
    from clew.instrument.recorder import lifecycle
    from clew.records.plan import Plan, Rule, Target

    plan = Plan(rules=(Rule(Target("**", "**")),), quota=256 << 20)
    if not lifecycle.start(folder, plan) or not import_hook.install(plan):
        sys.exit("recording did not start")


def child(mode: str, output: Path, name: str, selected: str) -> None:
    if mode == "recorded":
        start_recording(output.parent)
    from test import support

    support.verbose = 0
    support.use_resources = []
    result = Outcomes()
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            tests = unittest.defaultTestLoader.loadTestsFromName(f"test.{name}")
        except unittest.SkipTest:
            tests = unittest.TestSuite()
        if selected:
            tests = unittest.TestSuite(found for found in _flat(tests) if selected in found.id())
        tests.run(result)
    report: dict[str, Any] = {"outcomes": result.outcomes, "details": result.details, "functions": 0}
    if mode == "recorded":
        from clew.instrument.probes.sites import all_sites
        from clew.instrument.recorder import lifecycle
        from clew.instrument.recorder.select import implementation

        report["functions"], report["recorder"] = len(all_sites()), implementation
        lifecycle.stop()
        report["bytes"] = sum(path.stat().st_size for path in output.parent.glob("*.clew"))
    output.write_text(json.dumps(report))
    sys.stdout.flush()
    os._exit(0)  # what a test left behind, threads say, is not our concern


def _flat(tests: Any) -> Any:
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def run(mode: str, name: str, selected: str, timeout: float) -> dict[str, Any]:
    """The outcomes of one test module; one made-up test when the process itself fails."""
    with tempfile.TemporaryDirectory(prefix="clew-cpython-", ignore_cleanup_errors=True) as folder:
        output = Path(folder, "outcomes.json")
        begin = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--child", mode, str(output), name, selected],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
                cwd=folder,
            )
            failure = f"exit code {done.returncode}: " + done.stderr.decode(errors="replace")[-2000:]
        except subprocess.TimeoutExpired:
            failure = f"no end after {timeout:.0f} s"
        report: dict[str, Any] = (
            json.loads(output.read_text())
            if output.exists()
            else {"outcomes": {f"test.{name}": "process failed"}, "details": {f"test.{name}": failure}, "functions": 0}
        )
        report["seconds"] = time.monotonic() - begin
        return report


def main() -> int:
    # What a shell starts in the background ignores SIGINT, which some of the tests send to themselves.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tests", nargs="*", help="test modules below Lib/test; default: the list in this file")
    parser.add_argument("--match", default="", metavar="TEXT", help="only tests whose id contains TEXT")
    parser.add_argument("--every", action="store_true", help="print each test's outcomes")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS", help="for one run of one module")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the differences and counts there")
    options = parser.parse_args()
    different: dict[str, list[str]] = {}
    total = 0
    for name in options.tests or default_tests():
        plain, recorded = (run(mode, name, options.match, options.timeout) for mode in ("plain", "recorded"))
        old, new = plain["outcomes"], recorded["outcomes"]
        total += len(old)
        changed = {
            test: [old.get(test, "not run"), new.get(test, "not run")]
            for test in {*old, *new}
            if old.get(test) != new.get(test)
        }
        ok = sum(outcome == "ok" for outcome in old.values())
        print(
            f"{name}: {len(old)} tests, {ok} ok without clew, {len(changed)} differ"
            f" ({recorded['functions']} functions rewritten, {recorded.get('bytes', 0) >> 20} MB; "
            f"{plain['seconds']:.1f} s, recorded {recorded['seconds']:.1f} s)",
            flush=True,
        )
        if options.every:
            for test in sorted({*old, *new}):
                print(f"    {test}: {old.get(test, 'not run')} / {new.get(test, 'not run')}")
        for test, (was, now) in sorted(changed.items()):
            reason = ALLOWED.get(test)
            print(f"  {test}: {was} without clew, {now} recorded" + (f" (allowed: {reason})" if reason else ""))
            if reason is None:
                different[test] = [was, now]
                print("    " + recorded["details"].get(test, plain["details"].get(test, "")).replace("\n", "\n    "))
    print(f"{total} tests, {len(different)} with another outcome")
    if options.json:
        options.json.write_text(json.dumps({"tests": total, "different": different}, indent=1) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), sys.argv[4], sys.argv[5])
    sys.exit(main())
