"""Maps the folders at the top onto the package `clew`, and builds the C core where there is a compiler."""

from glob import glob

from setuptools import Extension, setup

FOLDERS = ("records", "instrument", "esl", "graph", "compare", "server", "cli")


def packages() -> dict[str, str]:
    from setuptools import find_packages

    found = {"clew": "api"}
    for folder in FOLDERS:
        found[f"clew.{folder}"] = folder
        for name in find_packages(folder):
            found[f"clew.{folder}.{name}"] = f"{folder}/{name.replace('.', '/')}"
    return found


PACKAGES = packages()

setup(
    packages=list(PACKAGES),
    package_dir=PACKAGES,
    package_data={
        "clew": ["py.typed"],
        "clew.compare": ["*.pyi", "csrc/*"],
        "clew.esl": ["*.lark", "reference.md", "packs/*.esl", "packs/costs.json"],
        "clew.graph": ["*.pyi", "csrc/*"],
        "clew.instrument.probes": ["*.pyi", "csrc/*"],
        "clew.instrument.recorder": ["*.pyi", "csrc/*"],
        "clew.records": ["*.pyi", "csrc/*"],
        "clew.server": ["static/*", "static/**/*"],
    },
    # Optional: without a compiler the Python twins are used; of the recorder's, `clew run` says so.
    ext_modules=[
        Extension(
            "clew.records._codec",
            sources=["records/csrc/codec.c"],
            depends=sorted(glob("records/csrc/*.h")),
            extra_compile_args=["-O2", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        Extension(
            "clew.instrument.recorder._core",
            sources=["instrument/recorder/csrc/core.c"],
            depends=sorted(glob("instrument/recorder/csrc/*.h")),
            extra_compile_args=["-O2", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        Extension(
            "clew.instrument.probes._entry",
            sources=["instrument/probes/csrc/entry.c"],
            depends=sorted(glob("instrument/probes/csrc/*.h")),
            extra_compile_args=["-O2", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        # Without it the graph answers with numpy.
        Extension(
            "clew.graph._kernel",
            sources=["graph/csrc/kernel.c"],
            depends=sorted(glob("graph/csrc/*.h")),
            extra_compile_args=["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        # Without it graphs are made with numpy, and walks in Python.
        Extension(
            "clew.graph._ingest",
            sources=["graph/csrc/ingest.c"],
            depends=sorted(glob("graph/csrc/*.h")),
            extra_compile_args=["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        # Without it the timeline's tiles are made in Python.
        Extension(
            "clew.graph._timeline",
            sources=["graph/csrc/timeline.c"],
            depends=sorted(glob("graph/csrc/*.h")),
            extra_compile_args=["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        # Without it what repeats is found in Python.
        Extension(
            "clew.compare._sequitur",
            sources=["compare/csrc/sequitur.c"],
            depends=sorted([*glob("compare/csrc/*.h"), "graph/csrc/buffers.h"]),
            extra_compile_args=["-O3", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
        # Without it a graph is made in memory, however large it is.
        Extension(
            "clew.graph._scratch",
            sources=["graph/csrc/scratch.c"],
            extra_compile_args=["-O2", "-std=c11", "-fvisibility=hidden", "-Wall", "-Wextra", "-Wno-unused-parameter"],
            optional=True,
        ),
    ],
)
