"""Programs that wait, for tests of locks and of what is made of them.

A thread gives up the interpreter only where it blocks: the programs ask for a switch interval that is never over. So a
thread that has said "I am about to wait" is waiting when another one hears of it.
"""

from __future__ import annotations

PREFIX = """
    import sys, threading, time
    sys.setswitchinterval(1000)

    said = []

    def until(condition):
        while not condition(): time.sleep(0.001)

    def start(*targets):
        threads = [threading.Thread(target=target, name=target.__name__) for target in targets]
        for thread in threads: thread.start()
        return threads

    def join(threads):
        for thread in threads: thread.join()
    """
