"""A run of three requests for tests of queries."""

from clew import open as open_run


def store(run, factor=1):
    """Write two requests; the second fails in the server."""
    client, server = run.process("client").thread(), run.process("server").thread()
    for number, (name, ok) in enumerate([("SubmitWrite", True), ("Read", True), ("SubmitWrite", False)]):
        client.enter("client:Client.call").request(name).send(number)
        server.enter("server:Server.handle").receive(number).log(
            f"handling {number}", function="server:Server.handle", line=7
        )
        server.enter("server:Index.lookup")
        run.clock.now += 1_000_000 * factor
        server.exit("server:Index.lookup")
        if not ok:
            server.log("Write request failed: chunk 7", level=40, logger="server")
        server.send(f"reply {number}").exit("server:Server.handle")
        client.join(f"reply {number}").exit("client:Client.call")
    return open_run(run.write())
