"""A sidecar file is read exactly as written, or not at all."""

import os

import numpy as np
import pytest

from clew.graph.store.sidecar import Sidecar

ARRAYS = {"small": np.array([1, 2, 3], np.uint8), "wide": np.arange(5, dtype=np.int64), "none": np.zeros(0, np.int64)}
TYPES = {name: array.dtype for name, array in ARRAYS.items()}


@pytest.fixture
def sidecar(tmp_path):
    (tmp_path / "run" / "cache").mkdir(parents=True)
    return Sidecar(tmp_path / "run" / "cache" / "one.bin", 3, ["a", ("b", 1)])


def read(sidecar):
    found = sidecar.read(TYPES.__getitem__)
    return found and (found.about, {name: array.tolist() for name, array in found.arrays.items()})


def test_sidecar_contents_and_arrays_are_read_as_written(sidecar):
    sidecar.write({"x": [1, None]}, ARRAYS)
    assert read(sidecar) == ({"x": [1, None]}, {name: array.tolist() for name, array in ARRAYS.items()})
    assert os.stat(sidecar.path).st_mode & 0o777 == 0o600
    assert [path.name for path in sidecar.path.parent.parent.rglob("*")] == ["cache", "one.bin"]


def test_sidecar_of_other_format_or_identity_is_not_read(sidecar):
    sidecar.write({}, ARRAYS)
    assert Sidecar(sidecar.path, 4, sidecar.of).read() is None
    assert Sidecar(sidecar.path, 3, ["a", ("b", 2)]).read() is None
    assert Sidecar(sidecar.path.with_name("two.bin"), 3, sidecar.of).read() is None


def test_sidecar_with_any_changed_or_missing_byte_is_not_read(sidecar):
    sidecar.write({"x": 1}, ARRAYS)
    data = sidecar.path.read_bytes()
    expected = read(sidecar)
    for place in range(len(data)):
        for damaged in (data[:place], data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]):
            sidecar.path.unlink()
            sidecar.path.write_bytes(damaged)
            # Padding between arrays has no meaning.
            assert read(sidecar) in (None, expected) if damaged[place : place + 1] == b"\1" else read(sidecar) is None
