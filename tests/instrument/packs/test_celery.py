"""`include celery`: sending a task causes its run in another process, and the run causes the call that gets its result."""

import pytest

from clew.records.format.event import Kind

pytestmark = pytest.mark.slow

PROGRAM = """
    import os, subprocess, sys, threading
    import celery

    os.makedirs("broker", exist_ok=True)
    os.makedirs("results", exist_ok=True)
    app = celery.Celery("program", broker="filesystem://", backend="file://" + os.path.abspath("results"))
    app.conf.update(
        broker_transport_options={"data_folder_in": "broker", "data_folder_out": "broker", "control_folder": "broker",
                                  "polling_interval": 0.05},
        worker_hijack_root_logger=False,
    )

    @app.task(bind=True, max_retries=1)
    def work(self, name, number):
        if number == 1 and not self.request.retries:
            raise self.retry(countdown=0)
        if number == 2:
            raise KeyError(name)
        return [name, number]

    def ask(name):
        asked = [work.delay(name, number) for number in range(3)]
        found[name] = [answer.get(timeout=120, interval=0.05, propagate=False) for answer in asked]

    if __name__ == "__main__":
        command = [sys.executable, "-m", "celery", "-A", "program", "worker", "--pool", "solo", "--without-gossip",
                   "--without-mingle", "--without-heartbeat", "-l", "CRITICAL"]
        worker = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        found = {}
        threads = [threading.Thread(target=ask, args=(name,), name=name) for name in ("alice", "bob")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(found["alice"], found["bob"], work.apply(("eager", 0)).get())
        worker.terminate()
        print(worker.wait())
    """


def test_celery_task_is_caused_by_its_sender_and_causes_its_result(twice):
    spec = "include celery; payload program:work value (name, number) as asked"
    run = twice(PROGRAM, spec)
    assert "['alice', 1]" in run.stdout
    tasks, results = run.pairs("celery.task"), run.pairs("celery.result")
    # Each task was sent by the thread of its name, and the second try of a task by its first.
    caused = {(target.process.header.uid, target.event.ticks): source for source, target in tasks}
    ran = []
    cause = None
    for placed in sorted(run.events, key=lambda placed: placed.event.ticks):
        cause = caused.get((placed.process.header.uid, placed.event.ticks), cause)
        if placed.channel == "asked" and placed.event.kind == Kind.PAYLOAD and "eager" not in placed.text:
            ran.append((cause.strand, cause.function, placed.text))
    sent = "AMQP._create_task_sender.<locals>.send_task_message"
    asked = [(name, sent, f"('{name}', {number})") for name in ("alice", "bob") for number in range(3)]
    again = [("MainThread", sent, f"('{name}', 1)") for name in ("alice", "bob")]
    assert sorted(ran) == sorted([*asked, *again])
    here = {source.process.header.pid for source, _ in tasks if source.strand in ("alice", "bob")}
    assert len(here) == 1 and not here & {target.process.header.pid for _, target in tasks}
    # Each call that gets a result depends on the run of its task, by the task's id.
    assert len(results) == 6 and {target.strand for _, target in results} == {"alice", "bob"}
    owner = {source.text: source.strand for source, _ in tasks if source.strand in ("alice", "bob")}
    assert all(owner[target.text] == target.strand and source.text == target.text for source, target in results)
