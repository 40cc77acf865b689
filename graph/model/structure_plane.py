"""The structure plane: regions and edges as fixed-width arrays in memory or mapped from files, with queries on them.

An event is a *position* here: events are numbered region by region, regions in preorder of a forest (`csrc/plane.h`).
Invariants: `kernel.build` makes the arrays. Arrays from files are verified by checksums and index by index before use, so
a damaged file is an error and never a wrong answer.
"""

from __future__ import annotations

import contextlib
import io
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.graph.kernel import _structure as kernel
from clew.graph.model.array_utils import expand
from clew.graph.model.structure_layout import ARRAYS
from clew.records.errors import ClewError

I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

FORMAT = 1
"""The version of the file format; increment it with every change of the arrays."""
MANIFEST = "structure.json"
LARGEST = (1 << 32) - 2
"""The maximum number of events, of regions and of edges of a graph, since positions are 32 bits wide."""


class StructureError(ClewError):
    """Raised when files are not a structure or are incomplete; the message names the file."""


class Reached(NamedTuple):
    """A slice as ranges of positions. Each range ends (backward: begins) with a region."""

    lows: U32
    highs: U32
    followed: int


@dataclass(frozen=True, eq=False)
class Structure:
    """The structure plane of a graph."""

    arrays: Mapping[str, npt.NDArray[Any]]
    steady: bool
    """Whether times never decrease inside a region."""
    forward: bool
    """Whether times also never decrease along an edge that slices follow by default."""

    @staticmethod
    def of(
        *, region: npt.NDArray[np.uint32], regions: int, src: I64, dst: I64, excluded: Mask | None, ts: I64
    ) -> Structure:
        """Build the structure from a graph's columns; see `of_runs`."""
        first = np.flatnonzero(region[1:] != region[:-1]) + 1
        run_row = np.concatenate(([0], first)) if len(region) else first
        return Structure.of_runs(
            events=len(region),
            regions=regions,
            run_row=run_row,
            run_region=region[run_row],
            src=src,
            dst=dst,
            excluded=excluded,
            ts=ts,
        )

    @staticmethod
    def of_runs(
        *,
        events: int,
        regions: int,
        run_row: npt.NDArray[Any],
        run_region: npt.NDArray[Any],
        src: npt.NDArray[Any],
        dst: npt.NDArray[Any],
        excluded: Mask | None,
        ts: I64,
    ) -> Structure:
        """Build the structure from runs of consecutive rows of one region and from edges between rows.

        `run_row` and `run_region` are the first row and the region of each run, in ascending order of rows. The forest ignores
        `excluded` edges, and slices follow them only on request. `ts` is by row, in nanoseconds. Raises `ClewError` for a graph
        that is too large.
        """
        if max(events, regions, len(src)) > LARGEST:
            raise ClewError(f"a graph has at most {LARGEST:,} events, regions and edges; this one has more")
        given: list[Any] = [
            events,
            regions,
            *(np.ascontiguousarray(array, np.uint32) for array in (run_row, run_region, src, dst)),
            None if excluded is None else np.ascontiguousarray(excluded, np.uint8),
        ]
        steady, forward = kernel.times_ascend(*[*given, np.ascontiguousarray(ts, np.int64)])
        built = kernel.build(*given)
        arrays = {name: np.frombuffer(built[name], dtype) for name, dtype in ARRAYS.items()}
        return Structure(arrays, steady, forward)

    @cached_property
    def plane(self) -> Any:
        """The kernel's view of the arrays; see `_structure.pyi`. Raises `ValueError` when an index in them is out of range."""
        return kernel.Plane(self.arrays)

    @property
    def events(self) -> int:
        return int(self.arrays["start"][-1])

    @property
    def regions(self) -> int:
        """The number of regions with an event."""
        return len(self.arrays["end"])

    @property
    def edges(self) -> int:
        return len(self.arrays["out_edge"])

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    # Queries

    @cached_property
    def every(self) -> Mask:
        """A mask of all edges, including the edges that slices follow only on request."""
        return np.ones(self.edges, bool)

    def locate(self, rows: I64) -> tuple[U32, U32]:
        """Return the plane's region and the position of each row."""
        regions, positions = self.plane.locate(np.ascontiguousarray(rows, np.int64))
        return np.frombuffer(regions, np.uint32), np.frombuffer(positions, np.uint32)

    def rows_of(self, regions: U32, positions: U32) -> I64:
        return np.frombuffer(self.plane.rows_of(regions, positions), np.int64)

    def slice(
        self,
        rows: I64,
        *,
        forward: bool,
        allowed: Mask | None,
        crosses: Mask | None = None,
        max_hops: int | None = None,
        max_network_hops: int | None = None,
    ) -> Reached:
        """Return the slice from some rows. Masks are by edge number; `allowed` None means all edges that are not excluded."""
        limits = (-1 if limit is None else limit for limit in (max_hops, max_network_hops))
        regions, positions = self.locate(rows)
        if len(regions) > 1:
            order = np.argsort(regions, kind="stable")
            regions, positions = regions[order], positions[order]
        lows, highs, followed = self.plane.slice(forward, regions, positions, allowed, crosses, *limits)
        return Reached(np.frombuffer(lows, np.uint32), np.frombuffer(highs, np.uint32), followed)

    def by_region(self, reached: Reached, *, forward: bool) -> tuple[U32, U32]:
        """Return the regions of a slice in the order of its ranges, and the first (backward: last) position of each."""
        start = self.arrays["start"]
        first = np.searchsorted(start, reached.lows, "right") - 1
        if not forward:
            # A backward slice does not descend in the forest, so each range is in one region.
            return first.astype(np.uint32), reached.highs - np.uint32(1)
        last = np.searchsorted(start, reached.highs, "left")
        regions = expand(first, last).astype(np.uint32)
        return regions, np.maximum(start[regions], np.repeat(reached.lows, last - first))

    def edges_of(self, row: int, *, forward: bool) -> U32:
        """Return the edges out of (or into) the region of a row, in the order of their events in it."""
        region = int(self.locate(np.array([row], np.int64))[0][0])
        first = self.arrays["out_first" if forward else "in_first"]
        places = slice(int(first[region]), int(first[region + 1]))
        edge: U32 = self.arrays["out_edge"]
        return edge[places] if forward else edge[self.arrays["into"]["place"][places]]

    def owners(self, bounds: I64) -> U32:
        """Return, per region, the i for which its rows are in `range(bounds[i], bounds[i + 1])`."""
        return np.frombuffer(self.plane.owners(np.ascontiguousarray(bounds, np.int64)), np.uint32)

    # Files

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder and create it if needed. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        sums = {}
        for name, array in self.arrays.items():
            # Use a Python file, because its errors have a reason.
            with (folder / f"{name}.npy").open("wb") as file:
                np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
                file.write(np.ascontiguousarray(array).data)
            sums[name] = [len(array), *kernel.checksum(np.ascontiguousarray(array))]
        about = {"format": FORMAT, "steady": self.steady, "forward": self.forward, "arrays": sums}
        (folder / MANIFEST).write_text(json.dumps(about), encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> Structure:
        """Map the arrays of a folder into memory. Raises `StructureError` when they are not what `save` wrote."""
        try:
            about = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            if about["format"] != FORMAT:
                raise StructureError(f"{folder}: its structure has format {about['format']}, this clew reads {FORMAT}")
            sums = {name: tuple(about["arrays"][name]) for name in ARRAYS}
            files = [folder / f"{name}.npy" for name in ARRAYS]
            # Check some files while others are being read.
            with contextlib.suppress(RuntimeError):  # no memory for a thread
                threading.Thread(target=_read_ahead, args=(files,), daemon=True).start()
            arrays = {name: _mapped(folder / f"{name}.npy", name, sums[name][0]) for name in ARRAYS}
            loaded = Structure(arrays, bool(about["steady"]), bool(about["forward"]))
            loaded.plane  # noqa: B018  # checks the arrays
            for name, (_, *expected) in sums.items():
                if kernel.checksum(arrays[name]) != tuple(expected):
                    raise ValueError(f"{name} has changed")
        except OSError as error:
            raise StructureError(f"{error.filename or folder}: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError, EOFError, SyntaxError, OverflowError) as error:
            raise StructureError(f"{folder}: its structure is damaged ({error})") from error
        return loaded


def _read_ahead(files: list[Path]) -> None:
    """Read files into the page cache, which is faster than one page fault at a time."""
    buffer = bytearray(1 << 20)
    for path in files:
        with contextlib.suppress(OSError), path.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass


def _mapped(path: Path, name: str, length: int) -> npt.NDArray[Any]:
    # Compare the header instead of parsing it: a damaged header may contain anything.
    header = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(ARRAYS[name]), "fortran_order": False, "shape": (length,)}
    np.lib.format.write_array_header_1_0(header, described)
    with path.open("rb") as file:
        if file.read(header.tell()) != header.getvalue():
            raise ValueError(f"{name} has another shape")
        if path.stat().st_size != header.tell() + length * ARRAYS[name].itemsize:
            raise ValueError(f"{name} is incomplete")
    array = np.memmap(path, ARRAYS[name], "r", header.tell(), (length,)) if length else np.zeros(0, ARRAYS[name])
    # Slicing a plain array takes a third of the time of slicing a memmap.
    plain: npt.NDArray[Any] = np.asarray(array).view(np.ndarray)
    return plain
