"""`include redis`: a pop depends exactly on the push of the value, in any process."""

from collections import Counter

from clew.records.format.event import FLAG_AMBIGUOUS, Kind

PROGRAM = """
    import asyncio, os, subprocess, sys, threading
    import redis, redis.asyncio

    PATH = os.environ["REDIS"]

    def put(name):
        client = redis.Redis(unix_socket_path=PATH)
        client.rpush("jobs", f"{name}-1", f"{name}-2".encode())
        client.xadd("log", {"who": name, "number": 3}, maxlen=100)
        while client.publish("news", f"news of {name}") == 0:
            pass
        with client.pipeline() as pipeline:
            pipeline.rpush("more", f"{name}-piped").incr("count")
            pipeline.execute()
        client.close()

    def take():
        client = redis.Redis(unix_socket_path=PATH, decode_responses=True)
        for _ in range(4):
            took(client.blpop(["nothing", "jobs"])[1])
        last = "0"
        for _ in range(2):
            ((_, [(last, fields)]),) = streams(client.xread({"log": last}, count=1, block=20000))
            took(fields["who"] + "-stream")
        for _ in range(2):
            took(client.blmove("more", "done", 20))
        took(client.lpop("done"))
    def streams(found):
        return [(name, entries[0] if isinstance(found, dict) else entries)
                for name, entries in (found.items() if isinstance(found, dict) else found)]
    def took(text): pass

    async def listen():
        async with redis.asyncio.Redis(unix_socket_path=PATH) as client, client.pubsub() as news:
            await news.subscribe("news")
            print("ready", flush=True)
            seen = 0
            while seen < 2:
                message = await news.get_message(ignore_subscribe_messages=True, timeout=20)
                if message is not None:
                    took(message["data"].decode().removeprefix("news of ") + "-news")
                    seen += 1

    if sys.argv[1:] == ["take"]:
        asyncio.run(listen())
        take()
    else:
        redis.Redis(unix_socket_path=PATH).flushall()
        taker = subprocess.Popen([sys.executable, __file__, "take"], stdout=subprocess.PIPE, text=True)
        taker.stdout.readline()
        threads = [threading.Thread(target=put, args=(name,), name=name) for name in ("alice", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(taker.wait(), redis.Redis(unix_socket_path=PATH).get("count"))
    """


def test_redis_pop_depends_on_the_push_of_the_value(twice, said, redis_server):
    spec = "include redis, threads, asyncio, processes; payload program:took value text as took"
    run = twice(PROGRAM, spec, environment={"REDIS": redis_server})
    assert run.stdout == "0 b'2'\n"
    pairs = run.pairs("redis.list", "redis.stream", "redis.channel")
    caused = {(target.process.header.uid, target.event.ticks): source for source, target in pairs}
    (taker,) = {target.process.header.uid for _, target in pairs}
    cause, told = {}, []
    for placed in run.events:
        if placed.process.header.uid == taker:
            cause[placed.strand] = caused.get((taker, placed.event.ticks), cause.get(placed.strand))
            if placed.channel == "took" and placed.event.kind == Kind.PAYLOAD:
                told.append((cause[placed.strand].strand, placed.text))
    ways = ("1", "2", "stream", "news", "piped")
    (moved_by, moved) = told.pop()  # by the move to another list in this process
    assert moved_by == "MainThread" and moved in ("alice-piped", "bob-piped")
    assert sorted(told) == sorted((name, f"{name}-{way}") for name in ("alice", "bob") for way in ways)
    commands = Counter(text for strand, text in said(run, "command") if strand == "alice")
    assert commands["RPUSH"] == commands["XADD"] == 1 <= commands["PUBLISH"]
    assert [text for strand, text in said(run, "commands") if strand == "alice"] == ["2"]
    keys = [placed.text for placed in run.events if placed.channel.startswith("redis.")]
    assert keys and not any(keys), "values are not recorded"


def test_redis_equal_values_in_one_list_are_marked_ambiguous(twice, redis_server):
    run = twice(
        """
        import os, redis
        client = redis.Redis(unix_socket_path=os.environ["REDIS"])
        client.flushall()
        client.rpush("jobs", "same", "same", 12)
        print(client.lpop("jobs", 2), client.lpop("jobs"), client.lpop("jobs"))
        client.rpush("jobs", "same")
        """,
        "include redis",
        environment={"REDIS": redis_server},
    )
    sent = [placed.event.extension.flags for placed in run.of(Kind.SEND) if placed.channel == "redis.list"]
    assert sent == [0, FLAG_AMBIGUOUS, 0, 0]
    assert len(run.pairs("redis.list")) == 3


def test_redis_read_of_a_string_depends_on_the_write_of_the_content_it_found(twice, redis_server):
    run = twice(
        """
        import asyncio, os, redis, redis.asyncio, threading
        PATH = os.environ["REDIS"]
        client = redis.Redis(unix_socket_path=PATH, decode_responses=True)
        client.flushall()

        def write(name):
            client.set("one", name)
            client.setex("two", 60, f"{name} for a minute")
            client.mset({"three": name, "four": b"4"})

        for name in ("alice", "bob"):
            thread = threading.Thread(target=write, args=(name,), name=name)
            thread.start()
            thread.join()
        os.system(f"redis-cli -s {PATH} set four from-outside > /dev/null")

        async def read():
            async with redis.asyncio.Redis(unix_socket_path=PATH) as reader:
                print(await reader.get("one"), await reader.mget("two", "three", "four", "none"), await reader.get("none"))
        asyncio.run(read())
        print(client.getdel("one"))
        """,
        "include redis, threads, asyncio",
        environment={"REDIS": redis_server},
    )
    assert run.stdout == "b'bob' [b'bob for a minute', b'bob', b'from-outside', None] None\nbob\n"
    writes = {placed.event.extension.key: placed for placed in run.of(Kind.DEFINE) if placed.channel == "redis.value"}
    reads = [placed.event.extension.key for placed in run.of(Kind.USE) if placed.channel == "redis.value"]
    assert [writes[key].strand if key in writes else "" for key in reads] == ["bob", "bob", "bob", "", "bob"]
