"""The pack `django` under WSGI, a thread for each request, and under ASGI, a task for each, in another process."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.programs.pack_programs import ASGI

pytestmark = pytest.mark.slow

SET_UP = """
    def set_up():
        import django
        from django.conf import settings
        settings.configure(ROOT_URLCONF="program", ALLOWED_HOSTS=["*"], SECRET_KEY="s3cret", LOGGING_CONFIG=None,
                           MIDDLEWARE=["django.middleware.common.CommonMiddleware"])
        sys.modules["program"] = sys.modules["__main__"]
        django.setup()
        logging.getLogger("django").setLevel(logging.CRITICAL + 1)
    """
UNDER_WSGI = """
    import socketserver
    import urllib3
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

    def make_application():
        set_up()
        from django.core.handlers.wsgi import WSGIHandler
        from django.http import Http404, HttpResponseRedirect, JsonResponse
        from django.urls import include, path, re_path

        def item(request, number):
            log.info("answer %d", number)
            return JsonResponse({"number": number})
        def broken(request, number):
            log.info("answer %d", int(number))
            raise ZeroDivisionError
        def old(request, number):
            return HttpResponseRedirect(f"/items/{number}")
        def missing(request):
            raise Http404
        def part_of(request, part, number):
            return item(request, number)
        globals()["urlpatterns"] = [
            path("items/<int:number>", item), path("shop/", include([path("<str:part>/<int:number>/", part_of)])),
            path("old/<int:number>", old), re_path("^broken/(?P<number>[0-9]+)$", broken), path("missing", missing)]
        return WSGIHandler()

    class Quiet(WSGIRequestHandler):
        def log_message(self, *words): pass
    class Threaded(socketserver.ThreadingMixIn, WSGIServer):
        pass

    def ask_all(url):
        answers = {}
        pool = urllib3.PoolManager(maxsize=4)
        def shown(answer):
            names = {name: value for name, value in answer.headers.items() if name not in ("Date", "Server")}
            return answer.status, names, answer.data
        def ask(number):
            for shift, path in ((0, "items"), (100, "shop/part"), (200, "old"), (300, "broken")):
                log.info("ask %d", number + shift)
                slash = "/" if shift == 100 else ""
                answers[number + shift] = shown(pool.request("GET", f"{url}/{path}/{number + shift}{slash}"))
        in_threads(ask, 4)
        answers[500] = shown(pool.request("PUT", f"{url}/nowhere/5"))
        answers[501] = shown(pool.request("GET", f"{url}/missing"))
        for key in sorted(answers): print(key, answers[key])

    if sys.argv[1:] == ["serve"]:
        server = make_server("127.0.0.1", 0, make_application(), server_class=Threaded, handler_class=Quiet)
        threading.Thread(target=server.serve_forever, name="server").start()
        serving(server.server_port, server.shutdown)
    else:
        in_a_process(ask_all)
    """


def test_django_wsgi_request_leads_to_its_answer_and_has_its_routes_name(traced):
    found = traced(SET_UP + UNDER_WSGI, "include urllib3, django, standard;")
    for shift in (0, 100, 200, 300):
        found.requests_are_apart(range(shift, shift + 4))
    assert Counter(found.requests()) == {
        "GET /items/<int:number>": 8,
        "GET /shop/<str:part>/<int:number>/": 4,
        "GET /old/<int:number>": 4,
        "GET /^broken/(?P<number>[0-9]+)$": 4,
        "GET /missing": 1,
        "PUT": 1,
    }
    assert Counter(found.values("status")) == {"200": 12 * 2, "302": 4 * 2, "500": 4 * 2, "404": 2 * 2}


UNDER_ASGI = """
    def make_application():
        set_up()
        from django.core.handlers.asgi import ASGIHandler
        from django.http import JsonResponse
        from django.urls import path

        async def item(request, number):
            await asyncio.sleep(0.01)
            log.info("answer %d", number)
            return JsonResponse({"number": number})
        def slow(request, number):
            log.info("answer %d", number)
            return JsonResponse({"number": number, "thread": threading.current_thread() is not threading.main_thread()})
        globals()["urlpatterns"] = [path("items/<int:number>", item), path("slow/<int:number>", slow)]
        return ASGIHandler()

    paths = [(number + shift, f"/{name}/{number + shift}")
             for shift, name in ((0, "items"), (100, "slow")) for number in range(3)]
    paths.append((500, "/nowhere/5"))
    if sys.argv[1:] == ["serve"]:
        serve(make_application())
    else:
        in_a_process(lambda url: ask_all(url, paths))
    """


def test_django_asgi_request_leads_to_its_view_in_task_or_thread(traced):
    found = traced(SET_UP + ASGI + UNDER_ASGI, "include httpx, django, standard;")
    found.requests_are_apart([*range(3), *range(100, 103)])
    found.requests_are_apart(range(900, 903))
    assert Counter(found.requests()) == {"GET /items/<int:number>": 6, "GET /slow/<int:number>": 3, "GET": 1}
    assert Counter(found.values("status")) == {"200": 9 * 2, "404": 2}
