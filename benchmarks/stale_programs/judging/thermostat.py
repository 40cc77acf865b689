"""A remote control sets any field of a thermostat's settings, and a holiday plan turns the frost guard off."""

import logging
import queue
import threading
from dataclasses import dataclass

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("heating")


@dataclass
class Settings:
    target: float = 20.5
    lowest: float = 6.0
    fan: str = "auto"


@dataclass(frozen=True)
class Command:
    field: str
    value: object


def apply(settings: Settings, command: Command) -> None:
    setattr(settings, command.field, command.value)


def holiday_plan(settings: Settings) -> None:
    for command in (Command("target", 4.0), Command("lowest", -10.0), Command("fan", "off")):
        apply(settings, command)


def evening_plan(settings: Settings) -> None:
    apply(settings, Command("fan", "low"))


PLANS = {"holiday": holiday_plan, "evening": evening_plan}


def listen(settings: Settings, inbox: "queue.SimpleQueue[str]", heard: threading.Semaphore) -> None:
    while plan := inbox.get():
        PLANS[plan](settings)
        heard.release()


def regulate(settings: Settings, measured: float) -> bool:
    heats = measured < max(settings.target, settings.lowest)
    if not heats and measured < 5:
        log.critical("no heat at %.1f degrees, the pipes freeze", measured)
    return heats


def main() -> None:
    settings = Settings()
    inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
    heard = threading.Semaphore(0)
    remote = threading.Thread(target=listen, args=(settings, inbox, heard), name="remote-control")
    remote.start()
    regulate(settings, 18.0)
    for plan in ("evening", "holiday"):
        inbox.put(plan)
        heard.acquire()
    regulate(settings, 4.5)
    inbox.put("")
    remote.join()


if __name__ == "__main__":
    main()
