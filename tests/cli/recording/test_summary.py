"""The summary that `clew run` prints equals the counts of the store, and needs no heavy library."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from clew.cli.recording.summary import _Counted
from clew.graph.build.decode_records import decode
from clew.records.format.event import Kind, SiteInfo, pack_extension, pack_word
from clew.records.read.process_records import Extents, ProcessRecords, ThreadRecords

PLAIN = st.tuples(st.sampled_from([Kind.ENTER, Kind.EXIT, Kind.UNWIND]), st.integers(0, 5), st.just(b""))
KEY, TEXT = st.integers(0, 2**64 - 1), st.binary(max_size=70)
EXTENDED = st.tuples(st.sampled_from([Kind.LOG, Kind.SEND, Kind.ENTER]), st.integers(0, 5), KEY, TEXT)


def bytes_of(record):
    kind, site, *extension = record
    if extension == [b""]:
        return (1).to_bytes(8, "little") + pack_word(kind, site).to_bytes(8, "little")
    slots = pack_extension(extension[0], 0, extension[1])
    return (1).to_bytes(8, "little") + pack_word(kind, site, len(slots) // 16).to_bytes(8, "little") + slots


@given(st.lists(st.lists(st.lists(PLAIN | EXTENDED, max_size=30), max_size=3), max_size=3))
def test_summary_of_run_has_counts_of_store(threads):
    sites = {number: SiteInfo(number, "m", f"f{number}", "", 0, 0, "function") for number in range(1, 5)}
    process = ProcessRecords("")
    process.sites.update(sites)
    for serial, extents in enumerate(threads):
        joined = [memoryview(b"".join(map(bytes_of, extent))) for extent in extents]
        process.threads[serial] = ThreadRecords(serial, Extents(joined))
    counted = _Counted()
    counted.add(process)

    events = lines = 0
    entered, texts = set(), []
    for thread in process.threads.values():
        columns = decode(thread.extents)
        events += len(columns)
        entered |= {("m", f"f{site}") for site in columns.site[columns.kind == Kind.ENTER].tolist() if site in sites}
        for row in np.flatnonzero(columns.kind == Kind.LOG).tolist():
            lines += 1
            texts.append((int(columns.key[columns.ext[row]]), columns.text(row)))
    assert (counted.events, counted.lines, counted.functions) == (events, lines, entered)
    gravest = max((level for level, _ in texts), default=0)
    assert counted.worst == next((text for level, text in reversed(texts) if level == gravest), "")


def test_summary_of_large_thread_counts_its_beginning_only(monkeypatch):
    process = ProcessRecords("")
    process.sites[1] = SiteInfo(1, "m", "f", "", 0, 0, "function")
    extent = memoryview(bytes_of((Kind.ENTER, 1, b"")) * 10)
    process.threads[0] = ThreadRecords(0, Extents([extent] * 5))
    monkeypatch.setattr("clew.cli.recording.summary.COUNTED_BYTES", 3 * len(extent))
    counted = _Counted()
    counted.add(process)
    assert (counted.events, counted.functions, counted.whole) == (30, {("m", "f")}, False)


def test_run_command_with_summary_imports_no_heavy_library(tmp_path):
    (tmp_path / "app.py").write_text("def f(): pass\nf()\n")
    code = (
        "import sys; from clew.cli.main import call\n"
        f"call(['run', '--workspace', {str(tmp_path)!r}, '--', sys.executable, 'app.py'])\n"
        "print(sorted({'numpy', 'pyarrow', 'lark', 'rich', 'pygls', 'subprocess', 'shutil'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "[]\n"
    # The operating system may add pauses to the two events of the call.
    assert re.search(r"1 function, \d+ events, 0 log lines, 1 process", done.stderr)
