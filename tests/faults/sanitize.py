"""Build the C extensions under gcc's or clang's sanitizers and run tests with them.

It makes two things below .cache/sanitize: a package tree of links into this checkout with sanitized extensions, and a virtual
environment that finds that tree first, so that every process of a test loads the sanitized extensions. Invariant: the
extensions next to the sources are neither used nor changed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.support.extensions import extensions

EXAMPLES = """examples:
  python -m tests.faults.sanitize                         AddressSanitizer and UBSan, the recorder's, probes' and fault tests
  python -m tests.faults.sanitize tests/instrument/recorder -k fork  selected tests; further arguments go to pytest
  python -m tests.faults.sanitize --thread tests/instrument/recorder/test_threads.py
"""
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "sanitize"
FOLDERS = ("records", "source", "instrument", "esl", "graph", "compare", "query", "server", "cli")
MALLOC = "clew.graph.runtime._file_malloc"
"""Replaces malloc, as AddressSanitizer does, so it is built only for UBSan."""
FLAGS = ["-std=c11", "-fvisibility=hidden", "-g", "-O1", "-fno-omit-frame-pointer", "-fPIC", "-shared"]
KINDS = {
    "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
    "undefined": ["-fsanitize=undefined", "-fno-sanitize-recover=undefined"],
    "thread": ["-fsanitize=thread"],
}
RUNTIMES = {"address": ("asan", "ubsan"), "undefined": ("ubsan",), "thread": ("tsan",)}
PACKAGES = {"asan": "libasan8", "ubsan": "libubsan1", "tsan": "libtsan2"}
OPTIONS = {
    # Python holds its memory until exit, so leaks cannot be detected here; the soak test checks them. Python handles signals of
    # its own, and a program that overflows its stack has to die by the signal that it dies of without us. Allocations
    # that fail return NULL, as they do without a sanitizer.
    "ASAN_OPTIONS": "detect_leaks=0:handle_segv=0:allocator_may_return_null=1:detect_stack_use_after_return=1:exitcode=99",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": "exitcode=99:halt_on_error=1:report_signal_unsafe=0:handle_segv=0",
}
TESTS = [
    "tests/compare/patterns/test_sequitur.py",
    "tests/compare/patterns/test_activations.py",
    "tests/records/compress/test_codec.py",
    "tests/graph/kernel/test_structure.py",
    "tests/graph/ops/slicing/test_interval.py",
    "tests/graph/ops/flows/test_order.py",
    "tests/graph/kernel/test_gather.py",
    "tests/graph/ops/slicing/test_dominators.py",
    "tests/graph/ops/timing/test_backward_pass.py",
    "tests/graph/ops/timing/test_function_savings.py",
    "tests/graph/ops/flows/test_flows.py",
    "tests/graph/kernel/test_ingest.py",
    "tests/graph/kernel/test_cancellation.py",
    "tests/graph/ops/timeline/test_bars.py",
    "tests/graph/build/test_split_strands.py",
    "tests/graph/build/test_tick_conversion.py",
    "tests/graph/build/test_row_order.py",
    "tests/graph/build/test_edge_matching.py",
    "tests/instrument/recorder",
    "tests/instrument/probes",
    "tests/faults",
    "tests/instrument/adapters/test_threads.py",
    "tests/instrument/adapters/asyncio/test_tasks.py",
    "tests/instrument/adapters/asyncio/test_outcomes.py",
]
QUICK = [
    "tests/compare/patterns/test_sequitur.py",
    "tests/compare/patterns/test_activations.py",
    "tests/records/compress/test_codec.py",
    "tests/graph/kernel/test_structure.py",
    "tests/graph/ops/flows/test_order.py",
    "tests/graph/kernel/test_gather.py",
    "tests/graph/ops/slicing/test_dominators.py",
    "tests/graph/ops/timing/test_backward_pass.py",
    "tests/graph/ops/flows/test_flows.py",
    "tests/graph/kernel/test_ingest.py",
    "tests/graph/ops/timeline/test_bars.py",
    "tests/graph/build/test_split_strands.py",
    "tests/graph/build/test_tick_conversion.py",
    "tests/graph/build/test_row_order.py",
    "tests/graph/build/test_edge_matching.py",
    "tests/instrument/recorder",
    "tests/faults/test_program.py",
    "tests/faults/test_many_threads.py",
    "tests/instrument/probes/actions/test_actions.py",
]
THREADS = [
    "tests/instrument/recorder/test_threads.py",
    "tests/instrument/recorder/test_fork.py",
    "tests/instrument/recorder/test_lifecycle.py",
    "tests/graph/build/test_thread_counts.py",
]
ALONE = ["tests/graph/runtime/test_file_malloc.py"]
NOT = ("fuzz", "address_space", "runs_out_of_memory", "stack_overflow", "test_leaks", "little_memory")
"""Tests to leave out: tests of the reader, which has no C code; tests that limit the address space or the stack, which a
sanitizer needs itself; and tests that measure memory, which a sanitizer holds."""
SLOW = ("ten_thousand_threads", "long_stream")
"""Tests that --quick leaves out."""


def compiler() -> str:
    found = shutil.which(os.environ.get("CC") or "gcc") or shutil.which("clang") or shutil.which("cc")
    if not found:
        raise SystemExit("there is no C compiler to build with sanitizers: apt-get install gcc, or set CC")
    return found


def runtime(cc: str, name: str) -> str:
    """Return the path of the sanitizer's library, which has to be loaded before Python."""
    found = subprocess.run(
        [cc, f"-print-file-name=lib{name}.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    if not os.path.isabs(found) or not os.path.exists(found):
        raise SystemExit(f"{cc} has no lib{name}: apt-get install {PACKAGES[name]} (it comes with gcc on most systems)")
    return os.path.realpath(found)


def mirror(source: Path, target: Path) -> None:
    """Make the same folders with links to the files, without build products."""
    for file in source.rglob("*"):
        if file.is_file() and file.suffix != ".so" and "__pycache__" not in file.parts:
            link = target / file.relative_to(source)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file)


def tree(kind: str, cc: str) -> Path:
    """Build the package `clew` with sanitized extensions, and return the folder that contains it."""
    base = CACHE / kind / "tree"
    shutil.rmtree(base, ignore_errors=True)
    package = base / "clew"
    mirror(ROOT / "api", package)
    for folder in FOLDERS:
        mirror(ROOT / folder, package / folder)
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for made in extensions():
        if made.name == MALLOC and kind != "undefined":
            continue
        file = base / f"{made.name.replace('.', '/')}{suffix}"
        include = [f"-I{ROOT / folder}" for folder in made.include_dirs] + [f"-I{sysconfig.get_path('include')}"]
        code = [str(ROOT / source) for source in made.sources]
        subprocess.run([cc, *FLAGS, *KINDS[kind], *include, *code, "-o", str(file)], check=True)
    return base


def interpreter(kind: str, base: Path) -> str:
    """Return the Python of a virtual environment that finds the tree first, then the packages installed here."""
    folder = CACHE / kind / "venv"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = sysconfig.get_path("purelib")
    path = folder / "lib" / version / "site-packages" / "sanitized.pth"
    path.write_text(f"{base}\nimport site; site.addsitedir({packages!r})\n")
    return str(python)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--thread", action="store_true", help="ThreadSanitizer instead of AddressSanitizer and UBSan")
    parser.add_argument("--alone", action="store_true", help="UBSan only: the replacement of malloc")
    parser.add_argument("--quick", action="store_true", help="only the tests that cover most of the C code")
    options, arguments = parser.parse_known_args()
    kind = "thread" if options.thread else "undefined" if options.alone else "address"
    cc = compiler()
    libraries = [runtime(cc, name) for name in RUNTIMES[kind]]
    python = interpreter(kind, tree(kind, cc))
    given = {**os.environ, **OPTIONS, "LD_PRELOAD": " ".join(libraries), "PYTHONMALLOC": "malloc"}
    loaded = (
        "from clew.instrument.probes import _entry; from clew.instrument.recorder import _core; "
        "from clew.records.compress import _codec; from clew.compare.patterns import _sequitur; "
        "from clew.graph.kernel import _ingest, _structure, _timeline; print(_core.__file__)"
    )
    command = [python, "-c", loaded]
    if kind == "thread":  # needs a fixed memory layout
        command = ["setarch", "-R", *command]
    probe = subprocess.run(command, env=given, capture_output=True, text=True)
    if probe.returncode or not probe.stdout.startswith(str(CACHE)):
        raise SystemExit(f"this Python does not run under the {kind} sanitizer:\n{probe.stdout}{probe.stderr}")
    every = THREADS if options.thread else ALONE if options.alone else QUICK if options.quick else TESTS
    chosen = arguments if any(not word.startswith("-") for word in arguments) else [*every, *arguments]
    left_out = NOT + SLOW * options.quick
    chosen += ["-k", " and ".join(f"not {name}" for name in left_out)] if "-k" not in chosen else []
    # A sanitizer's report ends the process, pytest included, so pytest must not capture the output.
    command = [*command[:-2], "-m", "pytest", "-q", "-p", "no:randomly", "--capture=sys", *chosen]
    raise SystemExit(subprocess.run(command, env=given, cwd=ROOT).returncode)


if __name__ == "__main__":
    main()
