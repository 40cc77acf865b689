"""Tasks copy the context of the request but share the dict in it, and a support tool updates that dict."""

import asyncio
import contextvars
import logging

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("tenants")
scope: contextvars.ContextVar[dict[str, str]] = contextvars.ContextVar("scope")

INVOICES = {"north": ["n-1", "n-2"], "south": ["s-1"]}


def current(name: str) -> str:
    return scope.get()[name]


def impersonate(user: str, tenant: str) -> None:
    scope.get().update(user=user, tenant=tenant)


async def look_up_ticket(number: int, found: asyncio.Event) -> str:
    impersonate("support", "south")
    found.set()
    return f"ticket {number}"


async def audit(found: asyncio.Event) -> None:
    await found.wait()
    log.info("support looked at %s", current("tenant"))


async def list_invoices(expected: str) -> list[str]:
    tenant = current("tenant")
    if tenant != expected:
        log.error("user of %s was shown invoices of %s", expected, tenant)
    return INVOICES[tenant]


async def request(user: str, tenant: str) -> list[str]:
    scope.set({"user": user, "tenant": tenant})
    found = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(audit(found), name="audit")
        group.create_task(look_up_ticket(5, found), name="support-tool")
    return await list_invoices(tenant)


async def main() -> None:
    await asyncio.create_task(request("nora", "north"), name="request-nora")


if __name__ == "__main__":
    asyncio.run(main())
