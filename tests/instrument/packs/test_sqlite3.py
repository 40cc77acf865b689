"""`include sqlite3`: each statement is a call of its caller, and is recorded without its values."""

from clew.records.format.event import Kind

PROGRAM = """
    import sqlite3, threading

    def serve(name):
        with sqlite3.connect(":memory:") as connection:
            connection.execute("create table t (name text, secret int)")
            connection.execute(f"insert into t values ('{name}', 4711), (?, ?)", ("hidden", 12))
            cursor = connection.cursor()
            cursor.execute("select count(*) from t where secret > 4000")
            answers[name].append(cursor.fetchone()[0])
            try:
                connection.execute(f"select '{name}' from nowhere")
            except sqlite3.OperationalError as error:
                answers[name].append((str(error), error.__traceback__.tb_next))
        connection.close()
        barrier.wait()

    barrier, answers = threading.Barrier(2), {"alice": [], "bob": []}
    threads = [threading.Thread(target=serve, args=(name,), name=name) for name in ("alice", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(answers)
    print(sqlite3.Cursor.execute.__name__, type(sqlite3.connect(":memory:").execute("select 1")).__name__)
    """
STATEMENTS = [
    "create table t (name text, secret int)",
    "insert into t values (?, …), (?, …)",
    "select count(*) from t where secret > ?",
    "select ? from nowhere",
]


def test_sqlite3_statements_are_recorded_without_values_in_their_caller(twice, said):
    run = twice(PROGRAM, "include sqlite3, threads")
    found = said(run, "statement")
    for name in ("alice", "bob"):
        assert [text for strand, text in found if strand == name] == STATEMENTS
    calls = [placed for placed in run.of(Kind.ENTER) if placed.site.module == "_sqlite3" and placed.strand == "alice"]
    assert [placed.site.qualname for placed in calls] == [
        *["Connection.execute"] * 2, "Cursor.execute", "Cursor.fetchone", "Connection.execute", "Connection.commit",
    ][: len(calls)]  # fmt: skip
    assert sum(placed.site.module == "_sqlite3" for placed in run.of(Kind.UNWIND)) == 2
    recorded = b"".join(file.read_bytes() for file in run.folder.rglob("*") if file.is_file())
    assert b"4711" not in recorded and b"hidden" not in recorded
