"""`include logging`: a line written by a listener is caused by the call that logged it, in any thread or process."""

from collections import Counter

from clew.records.format.event import Kind

PROGRAM = """
    import logging, logging.handlers, multiprocessing, queue, sys, threading

    class Written(logging.Handler):
        def emit(self, record):
            lines.append(self.format(record))

    def log(name):
        for number in range(3):
            logging.getLogger(name).warning("%s %d", name, number)

    def in_a_child(lines_to):
        logging.getLogger().addHandler(logging.handlers.QueueHandler(lines_to))
        log("child")

    if __name__ == "__main__":
        lines = []
        shared = multiprocessing.get_context("spawn").Queue()
        listeners = []
        for each in (queue.Queue(), shared):
            listeners.append(logging.handlers.QueueListener(each, Written()))
            listeners[-1].start()
        logging.getLogger().addHandler(logging.handlers.QueueHandler(listeners[0].queue))
        threads = [threading.Thread(target=log, args=(name,), name=name) for name in ("alice", "bob")]
        child = multiprocessing.get_context("spawn").Process(target=in_a_child, args=(shared,))
        for one in (*threads, child):
            one.start()
        for one in (*threads, child):
            one.join()
        for listener in listeners:
            listener.stop()
        print(*sorted(lines), sep="\\n")
        shared.close()
        shared.join_thread()
    """


def test_logging_listener_line_is_caused_by_the_call_that_logged_it(twice):
    run = twice(PROGRAM, "include logging; logs; payload program:Written.emit value unsafe (record.msg) as line")
    assert len(run.stdout.splitlines()) == 9
    pairs = run.pairs("queue", "multiprocessing.queue")
    sent = Counter((target.channel, str(source)) for source, target in pairs if source.function == "QueueHandler.emit")
    assert sent == {
        ("queue", "alice/QueueHandler.emit"): 3,
        ("queue", "bob/QueueHandler.emit"): 3,
        ("multiprocessing.queue", "MainThread/QueueHandler.emit"): 3,
    }
    # Each receive is followed by the line that its sender logged.
    caused = {(target.process.header.uid, target.event.ticks): source.strand for source, target in pairs}
    names = Counter()
    for process in {placed.process.header.uid for placed in run.events}:
        cause = {}
        for placed in run.events:
            if placed.process.header.uid != process:
                continue
            cause[placed.strand] = caused.get((process, placed.event.ticks), cause.get(placed.strand))
            if placed.event.kind == Kind.PAYLOAD:
                names[cause[placed.strand], placed.text.split()[0]] += 1
    assert names == {("alice", "alice"): 3, ("bob", "bob"): 3, ("MainThread", "child"): 3}
