"""`include sqlalchemy`: statements are calls of their callers; returning a connection ends a wait for it."""

from collections import Counter

from clew.records.format.event import Kind

PROGRAM = """
    import threading, time
    from sqlalchemy import create_engine, text
    from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

    class Base(DeclarativeBase): pass
    class User(Base):
        __tablename__ = "users"
        id: Mapped[int] = mapped_column(primary_key=True)
        name: Mapped[str]

    engine = create_engine("sqlite:///users.db?check_same_thread=false", pool_size=1, max_overflow=0, pool_timeout=30)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    pool = engine.pool._pool

    def serve(name):
        with Session(engine) as session:
            session.add(User(name=f"{name}-hidden"))
            session.flush()
            print(session.execute(text(f"select count(*) from users where name = '{name}-hidden'")).scalar_one())
            if name == "alice":
                second.start()
                while not pool.not_empty._waiters:  # until bob waits for this connection
                    time.sleep(0.01)
            session.commit()

    second = threading.Thread(target=serve, args=("bob",), name="bob")
    first = threading.Thread(target=serve, args=("alice",), name="alice")
    first.start()
    first.join()
    second.join()
    """


def test_sqlalchemy_statements_and_connection_waits_are_recorded(twice, said):
    run = twice(PROGRAM, "include sqlalchemy, threads")
    found = said(run, "statement")
    for name in ("alice", "bob"):
        insert, select = [text for strand, text in found if strand == name]
        assert insert == "INSERT INTO users (name) VALUES (?)"
        assert select == "select count(*) from users where name = ?"
    assert not any("hidden" in text for _, text in found)
    # Bob waited only for the connection that Alice returned.
    between = Counter(
        (source.channel, source.function, target.function)
        for source, target in run.pairs(kinds=({Kind.RELEASE}, {Kind.ACQUIRE}))
        if (source.strand, target.strand) == ("alice", "bob")
    )
    assert between["condition", "QueuePool._do_return_conn", "QueuePool._do_get"] == 1
    assert {channel for channel, *_ in between} <= {"condition", "lock"}
    assert not [pair for pair in run.pairs() if (pair[0].strand, pair[1].strand) == ("bob", "alice")]
