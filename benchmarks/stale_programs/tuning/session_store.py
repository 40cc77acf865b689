"""A sweeper chose the sessions to drop before it waited for the archive; one of them was renewed meanwhile."""

import asyncio
import logging

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("sessions")


class Sessions:
    def __init__(self) -> None:
        self.by_token: dict[str, dict[str, object]] = {}
        self.now = 0

    def open(self, token: str, user: str) -> None:
        self.by_token[token] = {"user": user, "until": self.now + 10}

    def renew(self, token: str) -> None:
        self.by_token[token]["until"] = self.now + 10

    def user_of(self, token: str) -> object:
        return self.by_token[token]["user"]

    def expired(self) -> list[str]:
        return [token for token, session in self.by_token.items() if session["until"] <= self.now]

    def drop(self, token: str) -> None:
        self.by_token.pop(token, None)


async def archive(tokens: list[str], gate: asyncio.Event) -> None:
    log.info("archiving %d sessions", len(tokens))
    await gate.wait()


async def sweep(sessions: Sessions, chosen: asyncio.Event, archived: asyncio.Event) -> None:
    tokens = sessions.expired()
    chosen.set()
    await archive(tokens, archived)
    for token in tokens:
        sessions.drop(token)


async def request(sessions: Sessions, token: str) -> object:
    return sessions.user_of(token)


async def main() -> None:
    sessions = Sessions()
    sessions.open("t-17", "ada")
    sessions.open("t-18", "bob")
    sessions.now = 11
    chosen, archived = asyncio.Event(), asyncio.Event()
    sweeper = asyncio.create_task(sweep(sessions, chosen, archived), name="sweeper")
    await chosen.wait()
    sessions.renew("t-17")
    archived.set()
    await sweeper
    try:
        await asyncio.create_task(request(sessions, "t-17"), name="request-ada")
    except KeyError:
        log.error("session t-17 was renewed and is gone")


asyncio.run(main())
