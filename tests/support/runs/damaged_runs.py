"""A run of two machines with missing events, which views, commands and the panel must report."""

from __future__ import annotations

from pathlib import Path

from clew.records.format import header as h
from clew.records.format.event import FLAG_OVER, Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, record_files, save_run
from tests.support.runs.records import RunFolder

MS = 1_000_000
AHEAD = 5 * MS
"""How far the clock of the server is ahead."""
COUNTED = 41
WHY = "ran too often for the budget and was only counted for a time"


def empty_run(workspace: Path, name: str) -> RunFolder:
    folder, info = create_run(workspace, name=name, command=["python"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    return RunFolder(folder, info)


def write_torn_run(workspace: Path, name: str = "torn") -> Path:
    """Write a run in which a client on the machine north asks a server on south twice; some calls for the second answer are
    only counted. Then the client logs an error. A message takes 0.2 ms."""
    run = empty_run(workspace, name)
    client, server = run.process("client", host="north"), run.process("server", host="south", boot_id="other")
    here, there = client.thread(), server.thread()
    hot = server.site("store:look_up")
    for number in range(2):
        began = (10 + 20 * number) * MS
        here.enter("client:ask", at=began).send(f"question {number}", at=began + MS)
        arrived = began + MS + MS // 5 + AHEAD
        there.receive(f"question {number}", at=arrived).enter("server:answer", at=arrived + MS)
        if number:
            there.put(Kind.GAP, hot, key=0, text=WHY, at=arrived + 2 * MS)
            there.put(Kind.GAP, hot, key=COUNTED, text="recorded again", flags=FLAG_OVER, at=arrived + 6 * MS)
        there.send(f"answer {number}", at=arrived + 8 * MS).exit("server:answer", at=arrived + 9 * MS)
        here.receive(f"answer {number}", at=arrived - AHEAD + 8 * MS + MS // 5)
        if number:
            here.log("the answer is wrong", level=40, function="client:ask", line=7)
        here.exit("client:ask", at=arrived - AHEAD + 10 * MS)
    run.clock.now = 70 * MS
    return run.write()


PER_CHUNK = (h.CHUNK_SIZE - h.CHUNK_HEADER_SIZE) // 16


def without_chunk(folder, number):
    """Remove chunk `number` of the only trace file of a run; chunk 0 has the definitions."""
    (file,) = record_files(folder)
    data = file.read_bytes()
    at = h.HEADER_SIZE + number * h.CHUNK_SIZE
    file.write_bytes(data[:at] + bytes(h.CHUNK_SIZE) + data[at + h.CHUNK_SIZE :])
