"""`include subprocess`: records each started program, its caller and its exit status, without arguments."""

from collections import Counter

from clew.records.format.event import Kind

PROGRAM = """
    import asyncio, subprocess, sys, threading

    async def alone(word):
        child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, word)
        return await child.wait()

    def start(name, number):
        code = f"import sys; sys.exit({number})"
        found[name] = [
            subprocess.run([sys.executable, "-c", code, "hidden-" + name]).returncode,
            subprocess.Popen((sys.executable, "-c", code)).wait(),
            subprocess.run("exit 5 # hidden", shell=True).returncode,
        ]

    found = {}
    code = "import sys; sys.exit(7)"
    threads = [threading.Thread(target=start, args=pair, name=pair[0]) for pair in (("alice", 3), ("bob", 4))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(found["alice"], found["bob"], asyncio.run(alone("hidden")))
    """


def test_subprocess_pack_records_program_caller_and_exit_status(twice):
    run = twice(PROGRAM, "include subprocess, threads, asyncio")
    assert run.stdout == "[3, 3, 5] [4, 4, 5] 7\n"
    mine = [placed for placed in run.of(Kind.PAYLOAD) if placed.channel in ("program", "status")]
    status = {(placed.strand, placed.text) for placed in mine if placed.channel == "status"}
    (task,) = {strand for strand, _ in status} - {"alice", "bob"}
    assert status == {("alice", "3"), ("alice", "5"), ("bob", "4"), ("bob", "5"), (task, "7")}
    programs = Counter(placed.strand for placed in mine if placed.channel == "program" and "python" in placed.text)
    # asyncio starts its child by subprocess.Popen.
    assert programs == {"alice": 2, "bob": 2, task: 2}
    assert not any("hidden" in placed.text for placed in run.of(Kind.PAYLOAD))
    # Each child's end is joined by the call that waited for it.
    ends = Counter(target.strand for _, target in run.pairs("process.end"))
    assert ends["alice"] == ends["bob"] == 2
