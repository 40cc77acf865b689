"""The file allocator behaves like malloc and holds disk space only while a block is allocated."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.support.requirements import needs_own_process

pytestmark = needs_own_process

HEAD = """
import ctypes, errno, os, random, sys, threading
from clew.graph.runtime import _file_malloc as _scratch
PAGE, LEAST = 4096, 1 << 16
c = ctypes.CDLL(None, use_errno=True)
size_t, pointer = ctypes.c_size_t, ctypes.c_void_p
for name, given in {
    "malloc": [size_t], "calloc": [size_t, size_t], "realloc": [pointer, size_t], "reallocarray": [pointer, size_t, size_t],
    "memalign": [size_t, size_t], "aligned_alloc": [size_t, size_t], "valloc": [size_t], "pvalloc": [size_t],
}.items():
    getattr(c, name).argtypes, getattr(c, name).restype = given, pointer
c.free.argtypes, c.free.restype = [pointer], None
c.malloc_usable_size.argtypes, c.malloc_usable_size.restype = [pointer], size_t
c.posix_memalign.argtypes = [ctypes.POINTER(pointer), size_t, size_t]
def disk_bytes():
    "Return the disk space of unlinked files that are open."
    found = 0
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith(sys.argv[1]):
                found += os.stat(int(number)).st_blocks * 512
        except OSError:
            pass
    return found
"""
BEGIN = "_scratch.begin(sys.argv[1], LEAST)\n"


def in_preloaded(code, folder, begin=BEGIN, **options):
    library = importlib.util.find_spec("clew.graph.runtime._file_malloc").origin
    done = subprocess.run(
        [sys.executable, "-c", HEAD + begin + code, str(folder)],
        env=os.environ | {"LD_PRELOAD": library}, capture_output=True, text=True, check=False, **options,
    )  # fmt: skip
    assert (done.stderr, done.returncode) == ("", 0)
    assert list(folder.iterdir()) == []
    return done.stdout


MODEL = """
chance = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
live = {}
def filled(at, size, seed):
    "Mark both ends of each page and of the block."
    for place in {*range(0, size, PAGE), *range(PAGE - 1, size, PAGE), size - 1}:
        ctypes.c_ubyte.from_address(at + place).value = (place // PAGE + seed) % 251
def holds(at, size, seed):
    return all(
        ctypes.c_ubyte.from_address(at + place).value == (place // PAGE + seed) % 251
        for place in {*range(0, size, PAGE), *range(PAGE - 1, size, PAGE)}
    )
def some():
    return chance.choice([1, 100, PAGE, LEAST - 1, LEAST, LEAST + 1, 3 * LEAST, 10 * LEAST + 123])
def posix(alignment, size):
    at = pointer()
    assert c.posix_memalign(ctypes.byref(at), alignment, size) == 0
    return at.value
makers = [
    c.malloc, lambda size: c.calloc(1, size), lambda size: c.realloc(None, size), lambda size: c.memalign(64, size),
    lambda size: c.aligned_alloc(PAGE, (size + PAGE - 1) // PAGE * PAGE), c.valloc, c.pvalloc,
    lambda size: c.reallocarray(None, size, 1), lambda size: posix(128, size), lambda size: posix(1 << 14, size),
]
for step in range(700):
    seed = chance.randrange(251)
    if live and chance.random() < 0.45:
        at = chance.choice(list(live))
        size, before = live.pop(at)
        assert holds(at, size, before)
        if chance.random() < 0.5:
            c.free(at)
            continue
        wanted = some()
        at = c.realloc(at, wanted)
        assert holds(at, min(size, wanted), before)
    else:
        wanted = some()
        make = chance.choice(makers)
        at = make(wanted)
        if make is makers[1]:
            assert not any(ctypes.string_at(at, wanted))
    assert at and at not in live and c.malloc_usable_size(at) >= wanted
    filled(at, wanted, seed)
    live[at] = wanted, seed
count, now, most = _scratch.taken()
assert count and LEAST * count <= now <= most
assert disk_bytes() <= now
for at, (size, seed) in live.items():
    assert holds(at, size, seed)
    c.free(at)
assert _scratch.refused() == 0
print(_scratch.taken()[:2], disk_bytes())
"""


def test_file_malloc_random_calls_keep_written_bytes(tmp_path):
    assert in_preloaded(MODEL, tmp_path) == "(0, 0) 0\n"


def test_file_malloc_blocks_of_many_threads_do_not_overlap(tmp_path):
    code = """
import numpy as np
def work(number):
    for step in range(15):
        blocks = [np.full(LEAST + step * 8, number * 1000 + step) for _ in range(3)]
        blocks.append(np.sort(blocks[0] - blocks[1]))
        assert not blocks.pop().any() and all((block == number * 1000 + step).all() for block in blocks)
work(0)
before = _scratch.taken()[:2]
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(_scratch.taken()[:2] == before, disk_bytes() <= before[1])
"""
    assert in_preloaded(code, tmp_path) == "True True\n"


def test_file_malloc_realloc_in_many_threads_keeps_its_table_right(tmp_path):
    """A block that moves frees an address, which another thread may get before the move is noted."""
    code = """
wrong = []
def work(number):
    for step in range(400):
        at, size = c.malloc(LEAST), LEAST
        for wanted in (9 * LEAST, 2 * LEAST, 30 * LEAST, LEAST):
            ctypes.c_uint64.from_address(at).value = number * 1000 + step
            at = c.realloc(at, wanted)
            if ctypes.c_uint64.from_address(at).value != number * 1000 + step or c.malloc_usable_size(at) != wanted:
                wrong.append((number, step, wanted))
        c.free(at)
before = _scratch.taken()[:2]
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong, _scratch.taken()[:2] == before)
"""
    assert in_preloaded(code, tmp_path) == "[] True\n"


def test_file_malloc_reserves_and_frees_disk_space_immediately(tmp_path):
    code = """
at = c.malloc(100 * LEAST)
print(disk_bytes() == _scratch.taken()[1] == 100 * LEAST)
at = c.realloc(at, 200 * LEAST)
print(disk_bytes() == _scratch.taken()[1] == 200 * LEAST)
at = c.realloc(at, 50 * LEAST)
print(disk_bytes() == _scratch.taken()[1] == 50 * LEAST)
c.free(at)
print(disk_bytes(), _scratch.taken())
"""
    expected = f"True\nTrue\nTrue\n0 (0, 0, {200 << 16})\n"
    assert in_preloaded(code, tmp_path) == expected


def test_file_malloc_on_full_disk_returns_null_and_keeps_the_block(tmp_path):
    code = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (10 * LEAST, 10 * LEAST))
at = c.malloc(10 * LEAST)
ctypes.memset(at, 7, 10 * LEAST)
print(_scratch.refused(), c.malloc(11 * LEAST), ctypes.get_errno() == errno.ENOMEM, _scratch.refused() == errno.EFBIG)
print(c.realloc(at, 11 * LEAST), c.calloc(1 << 62, 8), c.malloc((1 << 63) - 1))
print(all(ctypes.string_at(at + place, 1) == bytes([7]) for place in range(0, 10 * LEAST, PAGE)), _scratch.taken()[0])
try:
    bytearray(20 * LEAST)
except MemoryError:
    print("as Python's other memory")
"""
    expected = "0 None True True\nNone None None\nTrue 1\nas Python's other memory\n"
    assert in_preloaded(code, tmp_path) == expected


def test_file_malloc_serves_more_blocks_than_open_files_allowed(tmp_path):
    code = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
_scratch.begin(sys.argv[1], LEAST)
blocks = [c.malloc(LEAST) for _ in range(200)]
for number, at in enumerate(blocks): ctypes.memset(at, number % 251, LEAST)
blocks = [c.realloc(at, 2 * LEAST) for at in blocks]
print(all(ctypes.string_at(at, LEAST) == bytes([number % 251]) * LEAST for number, at in enumerate(blocks)))
open(os.devnull).close()
for at in blocks: c.free(at)
print(_scratch.taken()[:2])
"""
    assert in_preloaded(code, tmp_path) == "True\n(0, 0)\n"


def test_file_malloc_before_begin_uses_the_c_library(tmp_path):
    assert in_preloaded("c.free(c.malloc(1 << 24)); print(_scratch.taken())", tmp_path, begin="") == "(0, 0, 0)\n"


def test_file_malloc_without_preload_raises(tmp_path):
    from clew.graph.runtime import _file_malloc

    with pytest.raises(RuntimeError, match="not preloaded"):
        _file_malloc.begin(tmp_path, 1 << 20)
