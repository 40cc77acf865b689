"""Map the folders at the top onto the package `clew`, build its C extensions, and build the panel with Node.

Without Node the package lacks the panel. `CLEW_COMPLETE_BUILD=1` makes the build fail instead: for releases.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

COMPLETE = bool(os.environ.get("CLEW_COMPLETE_BUILD"))
ROOT = Path(__file__).resolve().parent
CLIENT = ROOT / "vscode-client"
PANEL = ROOT / "server" / "static" / "index.html"
FOLDERS = ("records", "source", "instrument", "esl", "graph", "compare", "query", "server", "cli")


def packages() -> dict[str, str]:
    from setuptools import find_packages

    found = {"clew": "api"}
    for folder in FOLDERS:
        found[f"clew.{folder}"] = folder
        for name in find_packages(folder):
            found[f"clew.{folder}.{name}"] = f"{folder}/{name.replace('.', '/')}"
    return found


PACKAGES = packages()


KERNELS = "graph/kernel/csrc"
FORMAT = "records/format/csrc"
"""The generated header of the trace format."""


def extension(module: str, folder: str, *shared: str, optimise: int = 2, optional: bool = False) -> Extension:
    """The extension `clew.MODULE`: every C source below `folder` and `shared`, which have its headers, as `FORMAT` has."""
    folders = [folder, *shared, FORMAT]
    return Extension(
        f"clew.{module}",
        sources=sorted(source for each in folders for source in glob(f"{each}/**/*.c", recursive=True)),
        include_dirs=folders,
        depends=sorted(header for each in folders for header in glob(f"{each}/**/*.h", recursive=True)),
        extra_compile_args=[
            f"-O{optimise}",
            "-std=c11",
            "-fvisibility=hidden",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
        ],
        optional=optional,
    )


def kernel(name: str) -> Extension:
    """One of the graph's kernels: a folder of `graph/kernel/csrc`."""
    return extension(f"graph.kernel._{name}", f"{KERNELS}/{name}", f"{KERNELS}/common", optimise=3)


RECORDER = [extension("instrument.recorder._core", "instrument/recorder/csrc")]
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    RECORDER = []  # which relies on the GIL: clew only analyses there

SECOND_LOOK = []
if sys.version_info < (3, 14) and RECORDER:
    SECOND_LOOK = [
        extension("instrument.values._steps", "instrument/values/csrc")
    ]  # reads the frames of these versions

EXTENSIONS = [
    extension("records.compress._codec", "records/compress/csrc"),
    *RECORDER,
    extension("instrument.probes._entry", "instrument/probes/csrc"),
    *SECOND_LOOK,
    kernel("structure"),
    kernel("ingest"),
    kernel("timeline"),
    extension("compare.patterns._sequitur", "compare/patterns/csrc", f"{KERNELS}/common", optimise=3),
    extension("graph.runtime._file_malloc", "graph/runtime/csrc", optional=True),  # Linux with glibc only
]


def panel_is_current() -> bool:
    """Whether the built panel exists and is newer than its sources. A source distribution has the panel without sources."""
    if not PANEL.is_file():
        return False
    sources = [*CLIENT.glob("src/**/*"), *CLIENT.glob("*.mjs"), *CLIENT.glob("package*.json")]
    built = PANEL.stat().st_mtime
    return all(source.stat().st_mtime <= built for source in sources if source.is_file())


def npm_problem(npm: str, *arguments: str) -> str:
    """Run npm in the client's folder. Return an empty string, or the reason for the failure."""
    done = subprocess.run(
        [npm, *arguments],
        cwd=CLIENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode == 0:
        return ""
    sys.stderr.write(done.stdout.decode(errors="replace"))
    return f"`npm {' '.join(arguments)}` failed"


def panel_problem() -> str:
    """Build the panel unless it is current. Return an empty string, or the reason why the panel is missing or old."""
    if panel_is_current():
        return ""
    if not CLIENT.is_dir():
        return "this source tree has no vscode-client folder"
    npm = shutil.which("npm")
    if npm is None:
        return "npm was not found"
    installed = CLIENT / "node_modules" / ".installed"  # the Makefile uses the same file
    if not installed.is_file() or installed.stat().st_mtime < (CLIENT / "package-lock.json").stat().st_mtime:
        problem = npm_problem(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        if problem:
            return problem
        installed.touch()
    return npm_problem(npm, "run", "--silent", "build")


def build_panel() -> None:
    """Build the panel where that is possible. A package without the panel still records and answers on the command line."""
    problem = panel_problem()
    if problem and COMPLETE:
        raise SystemExit(f"clew: {problem}: the panel cannot be built")
    if problem:
        state = "an old panel" if PANEL.is_file() else "no panel, so `clew view` and `clew report` will not work"
        sys.stderr.write(
            f"clew: {problem}; the package gets {state}. Install Node.js 20 or later and install clew again, "
            "or install clew from a wheel.\n"
        )


class BuildWithPanel(build_py):
    """Copies the Python modules, and the panel with them. An editable install uses the panel that `make panel` builds."""

    def run(self) -> None:
        if not self.editable_mode:
            build_panel()
            self.remove_old_copies()
        super().run()

    def remove_old_copies(self) -> None:
        """Empty setuptools' build folder but for extensions: files that were since moved or deleted must not be packed."""
        for path in Path(self.build_lib, "clew").glob("**/*"):
            if path.is_file() and path.suffix not in (".so", ".pyd"):
                path.unlink()


class SourceWithPanel(sdist):
    """Packs the sources and the built panel, so that an installation from them needs no Node."""

    def run(self) -> None:
        build_panel()
        super().run()


setup(
    cmdclass={"build_py": BuildWithPanel, "sdist": SourceWithPanel},
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    include_package_data=False,  # MANIFEST.in lists what a source distribution needs, C sources among it; a wheel needs less
    package_data={
        "": ["*.pyi"],
        "clew": ["py.typed"],
        "clew.esl": ["reference.md"],
        "clew.esl.packs": ["*.esl", "costs.json"],
        "clew.esl.syntax": ["*.lark"],
        "clew.server": ["static/*", "static/**/*"],
    },
    ext_modules=EXTENSIONS,
)
