"""The pack `fastapi`: routes of the application and of routers that it includes, with dependencies in threads."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.programs.pack_programs import ASGI

pytestmark = pytest.mark.slow

PROGRAM = """
    from fastapi import APIRouter, BackgroundTasks, Depends, FastAPI

    app, shop, deep = FastAPI(), APIRouter(prefix="/shop"), APIRouter(prefix="/{part}")

    def checked(number: int):
        log.info("checked %d", number)
        return number

    @app.get("/items/{number}")
    async def item(number: int):
        log.info("answer %d", number)
        return {"number": number}

    @shop.get("/sync/{number}")
    def slow(number: int = Depends(checked)):
        log.info("answer %d", number)
        return {"number": number}

    @deep.get("/later/{number}")
    async def later(number: int, tasks: BackgroundTasks):
        def background(): log.info("answer %d", number)
        tasks.add_task(background)
        return {"number": number}

    shop.include_router(deep)
    app.include_router(shop)
    paths = [(number + shift, f"/{name}/{number + shift}")
             for shift, name in ((0, "items"), (100, "shop/sync"), (200, "shop/part/later")) for number in range(3)]
    paths.append((500, "/items/wrong"))

    if sys.argv[1:] == ["serve"]: serve(app)
    else: in_a_process(lambda url: ask_all(url, paths))
    """


def test_fastapi_request_leads_to_its_answer_and_has_its_whole_path(traced):
    found = traced(ASGI + PROGRAM, "include httpx, fastapi, standard;")
    found.requests_are_apart([*range(3), *range(100, 103), *range(200, 203)])
    found.requests_are_apart(range(900, 903))
    checked = {f"checked {number}" for number in range(100, 103)}
    assert [found.led_to(f"answer {number}") & checked for number in range(100, 103)] == [
        {f"checked {number}"} for number in range(100, 103)
    ]
    assert Counter(found.requests()) == {
        "GET /items/{number}": 7,
        "GET /shop/sync/{number}": 3,
        "GET /shop/{part}/later/{number}": 3,
    }
    assert Counter(found.values("status")) == {"200": 2 * 12, "422": 2}
