"""`include grpc`: the work of a server is caused by its call from another process, with any number of concurrent calls."""

from collections import Counter

from clew.records.format.event import Kind

PROGRAM = """
    import asyncio, subprocess, sys, threading
    from concurrent.futures import ThreadPoolExecutor
    import grpc, grpc.aio

    def one_one(request, context): return told(request, context)
    def one_many(request, context):
        yield told(request, context)
        yield request
    def many_one(requests, context): return told(b"".join(requests), context)
    def many_many(requests, context):
        for request in requests:
            yield told(request, context)
    def told(request, context):
        names = [name for name, value in context.invocation_metadata() if name == "mine"]
        return request + str(names).encode()

    def serve():
        server = grpc.server(ThreadPoolExecutor(4))
        methods = {
            "one_one": grpc.unary_unary_rpc_method_handler(one_one),
            "one_many": grpc.unary_stream_rpc_method_handler(one_many),
            "many_one": grpc.stream_unary_rpc_method_handler(many_one),
            "many_many": grpc.stream_stream_rpc_method_handler(many_many),
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop", methods),))
        print(server.add_insecure_port("127.0.0.1:0"), flush=True)
        server.start()
        sys.stdin.read()
        server.stop(None).wait()

    def call(name):
        word, twice = name.encode(), [name.encode()] * 2
        with grpc.insecure_channel(address) as channel:
            return [
                channel.unary_unary("/shop/one_one")(word),
                channel.unary_unary("/shop/one_one").future(word, metadata=(("mine", "1"),)).result(),
                *channel.unary_stream("/shop/one_many")(word),
                channel.stream_unary("/shop/many_one")(iter(twice)),
                channel.stream_unary("/shop/many_one").future(iter(twice), metadata=[("mine", "2")]).result(),
                *channel.stream_stream("/shop/many_many")(iter(twice)),
            ]

    async def call_async():
        async with grpc.aio.insecure_channel(address) as channel:
            return [await channel.unary_unary("/shop/one_one")(b"async", metadata=(("mine", "3"),)),
                    [each async for each in channel.unary_stream("/shop/one_many")(b"async")]]

    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        server = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        address = f"127.0.0.1:{server.stdout.readline().strip()}"
        found = {}
        def keep(name): found[name] = call(name)
        threads = [threading.Thread(target=keep, args=(name,), name=name) for name in ("alice", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(found["alice"], found["bob"], asyncio.run(call_async()))
        server.stdin.close()
        print(server.wait())
    """


def test_grpc_server_work_is_caused_by_the_call_in_another_process(twice, said):
    run = twice(PROGRAM, "include grpc, processes; payload program:told value request as request")
    pairs = run.pairs("traceparent")
    assert len(pairs) == 2 * 6 + 2
    caused = {(target.process.header.uid, target.event.ticks): source for source, target in pairs}
    # Each scope of the server contains the request of its own caller.
    cause, served = {}, Counter()
    for placed in run.events:
        place = placed.process.header.uid, placed.strand
        if placed.event.kind in (Kind.SCOPE_BEGIN, Kind.SCOPE_END):
            cause[place] = None
        cause[place] = caused.get((placed.process.header.uid, placed.event.ticks), cause.get(place))
        if placed.channel == "request" and placed.event.kind == Kind.PAYLOAD:
            sender = cause[place]
            assert sender.process.header.uid != placed.process.header.uid
            served[sender.strand, placed.text] += 1
    for name in ("alice", "bob"):
        assert {text: count for (strand, text), count in served.items() if strand == name} == {
            f"b'{name}'": 5, f"b'{name}{name}'": 2
        }  # fmt: skip
    assert sum(count for (_, text), count in served.items() if text == "b'async'") == 2
    assert sum(served.values()) == 16
    methods = Counter(text for _, text in said(run, "method"))
    assert methods == {"b'/shop/one_one'": 5, "b'/shop/one_many'": 3, "b'/shop/many_one'": 4, "b'/shop/many_many'": 2}
