"""A forked child writes to its own file or to no file, never to the parent's file."""

from clew.records.format.event import Kind
from clew.records.format.keys import process_end


def kinds(process, site):
    return [event.kind for event in process.events() if event.site == site]


def test_fork_while_recording_leaves_both_files_complete(run_program, read_all):
    done = run_program(
        """
        from pathlib import Path
        from clew.instrument.recorder import lifecycle, interned_strings as strings
        from clew.records.plan.plan import Plan
        assert lifecycle.start(Path(FOLDER), Plan())
        lifecycle.at_start(lambda: core.define(Kind.SITE, 9, b'{"module": "m", "qualname": "f", "line": 3}'))
        probe = core.Probe(9, Kind.ENTER)
        strings.intern("before")
        for _ in range(6000):
            ~probe
        child = os.fork()
        for _ in range(5000 if child else 7000):
            ~probe
        if child:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        strings.intern("after")
        lifecycle.stop()
        os._exit(0)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    parent, child = sorted(read_all(), key=lambda process: process.header.parent_uid != 0)
    assert not parent.problems and not child.problems
    assert kinds(parent, 9) == [Kind.ENTER] * 11_000
    assert kinds(child, 9) == [Kind.ENTER] * 7_000
    assert child.header.parent_uid == parent.header.uid
    assert child.header.parent_pid == parent.header.pid
    sends = [event.extension for event in parent.events() if event.kind is Kind.SEND]
    first = next(child.events())
    assert first.kind is Kind.JOIN
    assert [send.key for send in sends] == [first.extension.key]
    assert parent.strings[sends[0].channel] == child.strings[first.extension.channel] == "process.start"
    for process in (parent, child):
        assert {"before", "after"} <= set(process.strings.values())
        assert process.sites[9].qualname == "f"
        assert [thread.name for thread in process.threads.values()] == ["MainThread"]


def test_fork_in_many_threads_joins_each_child_to_its_fork(run_program, read_all):
    done = run_program(
        """
        import threading
        from pathlib import Path
        from clew.instrument.recorder import lifecycle
        from clew.records.plan.plan import Plan
        lifecycle.start(Path(FOLDER), Plan())
        probe = core.Probe(9, Kind.ENTER)
        def work(number):
            for _ in range(5):
                ~probe
                child = os.fork()
                if not child:
                    core.emit(Kind.MARK, number, 1)
                    lifecycle.stop()
                    os._exit(0)
                os.waitpid(child, 0)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        lifecycle.stop()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    processes = read_all()
    assert len(processes) == 16
    assert not [problem for process in processes for problem in process.problems]
    (parent,) = [process for process in processes if not process.header.parent_uid]
    senders = {e.extension.key: e.thread for e in parent.events() if e.kind is Kind.SEND}
    marks = {}
    for process in processes:
        if process is not parent:
            join, mark = process.events()
            marks.setdefault(mark.site, set()).add(senders.pop(join.extension.key))
    assert not senders
    assert sorted(len(threads) for threads in marks.values()) == [1, 1, 1]


def test_fork_child_that_starts_no_recording_writes_nothing(run_program, read_all):
    done = run_program(
        """
        start()
        probe = core.Probe(9, Kind.ENTER)
        ~probe
        child = os.fork()
        if not child:
            for _ in range(10_000):
                ~probe
            core.emit(Kind.MARK, 9, 1); core.define(Kind.STRING, 1, b"child"); core.stop()
            os._exit(0 if not core.active() and core.thread() == 0 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        ~probe
        core.stop()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    (parent,) = read_all()
    assert not parent.problems
    assert kinds(parent, 9) == [Kind.ENTER] * 2
    assert parent.strings == {}


def test_fork_pool_records_each_process(run_program, read_all):
    done = run_program(
        """
        import multiprocessing
        from pathlib import Path
        from clew.instrument.recorder import lifecycle
        from clew.records.plan.plan import Plan
        lifecycle.start(Path(FOLDER), Plan())
        def work(number):
            ~core.Probe(number, Kind.ENTER)
            return os.getpid()
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(3) as pool:
                pids = set(pool.map(work, range(100, 130), chunksize=1))
                pool.close()
                pool.join()  # otherwise an idle worker is killed as it starts
            print(len(pids))
        """
    )
    assert done.stderr == ""
    processes = read_all()
    assert not [problem for process in processes for problem in process.problems]
    sites = sorted(event.site for process in processes for event in process.events() if event.site)
    assert sites == list(range(100, 130))


def test_spawned_child_joins_the_cause_in_its_environment(run_program, read_all):
    done = run_program(
        """
        from pathlib import Path
        from clew.instrument.recorder import lifecycle
        from clew.records.plan.plan import Plan
        os.environ["CLEW_CAUSE"] = "ab12-ff"
        lifecycle.start(Path(FOLDER), Plan())
        assert "CLEW_CAUSE" not in os.environ
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    (process,) = read_all()
    join, end = process.events()
    assert (join.kind, join.extension.key, process.header.parent_uid) == (Kind.JOIN, 0xAB12, 0xFF)
    assert (end.kind, end.extension.key) == (Kind.SEND, process_end(0xAB12))
    assert process.strings[end.extension.channel] == "process.end"
