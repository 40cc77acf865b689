"""The packs `requests`, `urllib3` and `flask`: sessions in threads that ask a server in another process."""

from __future__ import annotations

from collections import Counter

import pytest

PROGRAM = """
    import flask, requests, werkzeug.serving

    app = flask.Flask("shop")
    app.logger.disabled = True

    @app.before_request
    def before():
        if flask.request.args.get("refused"): flask.abort(403)

    @app.get("/items/<int:number>")
    def item(number):
        log.info("answer %d", number)
        return {"number": number}

    @app.post("/items/<int:number>/broken")
    def broken(number):
        log.info("answer %d", number)
        raise ZeroDivisionError(number)

    @app.get("/old/<int:number>")
    def old(number):
        return flask.redirect(f"/items/{number}")

    def shown(answer):
        names = {name: value for name, value in answer.headers.items() if name not in ("Date", "Server")}
        return answer.status_code, names, answer.text, [each.status_code for each in answer.history]

    def ask_all(url):
        answers = {}
        def ask(number):
            with requests.Session() as session:
                log.info("ask %d", number)
                answers[number] = shown(session.get(f"{url}/items/{number}", params={"token": "s3cret"}))
                log.info("ask %d", number + 100)
                answers[number + 100] = shown(session.get(f"{url}/old/{number + 100}"))
                log.info("ask %d", number + 200)
                answers[number + 200] = shown(session.post(f"{url}/items/{number + 200}/broken", data="secret=1"))
        in_threads(ask, 4)
        answers["none"] = shown(requests.get(f"{url}/nowhere/5"))
        answers["refused"] = shown(requests.get(f"{url}/items/5?refused=1"))
        for key in sorted(answers, key=str): print(key, answers[key])
        try: requests.get("http://127.0.0.1:1/")
        except requests.ConnectionError as error: print(type(error.args[0].reason).__name__)

    if sys.argv[1:] == ["serve"]:
        werkzeug.serving._log = lambda *words: None
        server = werkzeug.serving.make_server("127.0.0.1", 0, app, threaded=True)
        threading.Thread(target=server.serve_forever, name="server").start()
        serving(server.server_port, server.shutdown)
    else:
        in_a_process(ask_all)
    """


def test_flask_request_leads_to_its_answer_and_has_its_routes_name(traced):
    found = traced(PROGRAM, "include requests, flask, standard;")
    for shift in (0, 100, 200):
        found.requests_are_apart(range(shift, shift + 4))
    routes = {"GET /items/<int:number>": 4 + 4 + 1, "GET /old/<int:number>": 4, "GET": 1}
    assert Counter(found.requests()) == routes | {"POST /items/<int:number>/broken": 4}
    assert Counter(found.values("status")) == {"200": 8 * 2, "302": 4 * 2, "404": 2, "403": 2, "500": 4 * 2}
    sent = Counter(found.values("sent"))
    assert {each.split(",")[0] for each in sent} == {"('GET'", "('POST'"} and sum(sent.values()) == 19
    # Addresses, headers and bodies are not recorded.
    stored = b"".join(path.read_bytes() for path in found.folder.rglob("*") if path.is_file())
    assert b"s3cret" not in stored and b"secret=1" not in stored and b"nowhere" not in stored
    assert found.values("url") == []


@pytest.mark.parametrize("spec", ["include requests(urls = True);", "include urllib3(urls = True);"])
def test_requests_pack_with_urls_option_records_addresses(traced, spec):
    source = """
        import requests
        try: requests.get("http://127.0.0.1:1/chunks?id=5")
        except requests.ConnectionError: print("refused")
        """
    found = traced(source, spec)
    assert found.values("url") == ["/chunks?id=5"]
    assert found.values("sent") == ["('GET', '127.0.0.1', 1)"] and found.values("status") == []
