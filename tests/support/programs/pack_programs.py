"""Code shared by the traced programs of the pack tests."""

from __future__ import annotations

AROUND = """
    import logging, subprocess, sys, threading
    log = logging.getLogger("program")
    log.setLevel(logging.INFO)
    log.addHandler(logging.NullHandler())  # the order of their lines is chance
    log.propagate = False

    def in_a_process(ask):
        child = subprocess.Popen([sys.executable, __file__, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            ask(f"http://127.0.0.1:{int(child.stdout.readline())}")
        finally:
            child.stdin.close()
            print(child.stdout.read(), end="")
            child.stdout.close()
            print("the server ended with", child.wait())

    def serving(port, stop):
        print(port, flush=True)
        sys.stdin.read()
        stop()

    def in_threads(ask, count):
        threads = [threading.Thread(target=ask, args=(number,), name=f"asker {number}") for number in range(count)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
    """
"""A server in another process, which ends with its standard input, and clients in threads."""
ASGI = """
    import asyncio, socket
    import httpx, uvicorn

    def serve(app):
        made = socket.socket()
        made.bind(("127.0.0.1", 0))
        made.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
        def stop(): server.should_exit = True
        threading.Thread(target=serving, args=(made.getsockname()[1], stop), name="until the end").start()
        server.run(sockets=[made])

    def shown(answer):
        names = {name: value for name, value in answer.headers.items() if name not in ("date", "server")}
        return answer.status_code, names, answer.text

    def ask_all(url, paths):
        answers = {}
        async def ask(client, number, path):
            log.info("ask %d", number)
            answers[number] = shown(await client.get(f"{url}{path}", params={"token": "s3cret"}))
        async def in_tasks():
            async with httpx.AsyncClient() as client:
                await asyncio.gather(*(ask(client, number, path) for number, path in paths))
        asyncio.run(in_tasks())
        def ask_alone(number):
            with httpx.Client() as client:
                log.info("ask %d", number + 900)
                answers[number + 900] = shown(client.get(f"{url}/items/{number + 900}"))
        in_threads(ask_alone, 3)
        for key in sorted(answers): print(key, answers[key])
        try: httpx.get("http://127.0.0.1:1/")
        except httpx.ConnectError as error: print(type(error).__name__)
    """
"""An ASGI server in a serving process, and clients in tasks and threads, each with its own number."""
