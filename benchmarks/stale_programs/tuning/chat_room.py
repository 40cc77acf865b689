"""The clean-up of a lost connection removes a member who has already come back by a new connection."""

import asyncio
import logging

logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(message)s")
logging.getLogger("asyncio").setLevel(logging.WARNING)
log = logging.getLogger("chat")


class Room:
    def __init__(self, name):
        self.name = name
        self.members = set()
        self.said = []

    def enter(self, user):
        self.members.add(user)

    def leave(self, user):
        self.members.discard(user)

    def say(self, user, text):
        if user not in self.members:
            log.warning("%s is not in %s, dropped %r", user, self.name, text)
            return
        self.said.append((user, text))


class Connection:
    def __init__(self, room, user):
        self.room = room
        self.user = user
        self.lost = asyncio.Event()
        self.flushed = asyncio.Event()

    async def serve(self):
        self.room.enter(self.user)
        try:
            await self.lost.wait()
        finally:
            await self.close()

    async def close(self):
        await self.flushed.wait()
        self.room.leave(self.user)


async def main():
    room = Room("garden")
    old = Connection(room, "ada")
    old_task = asyncio.create_task(old.serve(), name="connection-1")
    other_task = asyncio.create_task(Connection(room, "bob").serve(), name="connection-2")
    await asyncio.sleep(0)
    room.say("ada", "hello")
    old.lost.set()
    new = Connection(room, "ada")
    new_task = asyncio.create_task(new.serve(), name="connection-3")
    await asyncio.sleep(0)
    old.flushed.set()
    await old_task
    room.say("ada", "I am back")
    for task in (new_task, other_task):
        task.cancel()
    new.flushed.set()


if __name__ == "__main__":
    asyncio.run(main())
