"""Programs that wait, for tests of locks and primitives built from locks.

The programs set an endless switch interval, so that a thread gives up the interpreter only where it blocks. A thread that has
announced its wait is therefore waiting when another thread reads the announcement.
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
