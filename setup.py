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


def part_in_c(module: str, *headers: str, optimise: int) -> Extension:
    """Built of the file of its name in its folder's `csrc`, with the headers beside that. Optional: without a compiler the
    Python twins are used; of the recorder's, `clew run` says so."""
    folder, _, name = module.rpartition(".")
    place = f"{folder.replace('.', '/')}/csrc"
    return Extension(
        f"clew.{module}",
        sources=[f"{place}/{name.removeprefix('_')}.c"],
        depends=sorted([*glob(f"{place}/*.h"), *headers]),
        extra_compile_args=[
            f"-O{optimise}",
            "-std=c11",
            "-fvisibility=hidden",
            "-Wall",
            "-Wextra",
            "-Wno-unused-parameter",
        ],
        optional=True,
    )


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
    ext_modules=[
        part_in_c("records._codec", optimise=2),
        part_in_c("instrument.recorder._core", optimise=2),
        part_in_c("instrument.probes._entry", optimise=2),
        # Without it the graph answers with numpy.
        part_in_c("graph._kernel", optimise=3),
        # Without it graphs are made with numpy, and walks in Python.
        part_in_c("graph._ingest", optimise=3),
        # Without it the timeline's tiles are made in Python.
        part_in_c("graph._timeline", optimise=3),
        # Without it what repeats is found in Python.
        part_in_c("compare._sequitur", "graph/csrc/buffers.h", optimise=3),
        # Without it a graph is made in memory, however large it is.
        part_in_c("graph._scratch", optimise=2),
    ],
)
