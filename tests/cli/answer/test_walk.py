"""`clew walk` with `--steps`, and with keys on a terminal."""

import json
import os
import pty
import re
import subprocess

import pytest

WALK = """\
run before (WHEN)

+0.TTTTTT s  ERROR Order failed: item 17 is sold out
  shop.app / order 17 · shop/app.py:18 · event N
  level = ERROR
  logger = shop

cause: through the state item 17: set by Stock.mark_sold, D earlier; used here D earlier
+0.TTTTTT s  Stock.mark_sold defined item 17
  shop.app / sweeper · shop/stock.py:21 · event N
  through = item
  what = 17

out: out to the call of Stock.mark_sold, D earlier
+0.TTTTTT s  Stock.mark_sold was called
  shop.app / sweeper · shop/stock.py:21 · event N
  lasted = D
  ← cause: through the start of a thread: started by app.main, D earlier; run here D earlier
  → effect (2): through the state item 17: used by Stock.lookup, D later; set here D later
  ↑ previous: the event before it in thread sweeper, D earlier
  ↓ next: the event after it in thread sweeper, D later
  o out: out to the call of Sweeper.run, D earlier
  i in: the first event inside, D later
"""


def plain(text):
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "WHEN", text)
    text = re.sub(r"\+\d+\.\d{6} s", "+0.TTTTTT s", text)
    return re.sub(r"event \d+", "event N", re.sub(r"[\d.]+ (ns|µs|ms|s)\b", "D", text))


def test_walk_prints_each_step_and_the_next_steps(shop):
    assert plain(shop("walk", "Order failed", "--run", "before", "--steps", "cause,out").stdout) == WALK


def test_walk_json_has_every_step(shop):
    answers = json.loads(
        shop("walk", "Order failed", "--run", "before", "--steps", "cause,back,out:1", "--json").stdout
    )
    assert [one["step"] for one in answers] == ["here", "cause", "back", "out"]
    assert answers[2]["card"] == answers[0]["card"]
    again = json.loads(shop("walk", "--event", answers[1]["card"]["event"], "--run", "before", "--json").stdout)
    assert again[0]["card"] == answers[1]["card"]


def test_walk_step_without_an_end_names_the_reason(shop):
    done = shop("walk", "--event", 0, "--run", "before", "--steps", "previous").stdout
    assert "previous: it is the first event of thread MainThread\n" in done


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x", "--steps", "cause,sideways"], "'sideways' is not a step; expected cause, effect"),
        (["x", "--steps", "cause:0"], "'cause:0' is not a step"),
        (["x", "--event", "3"], "use only one of TEXT, --at and --event"),
        (["x", "--pick", "best"], "'best' is not one of 'last', 'first', 'slowest', 'failed'"),
    ],
)
def test_walk_invalid_arguments_print_one_message(shop, words, said):
    assert said in shop("walk", *words, code=2).stderr


def test_walk_unknown_log_line_prints_one_message(shop):
    assert shop("walk", "nonsense", code=1).stderr.startswith("clew: no log line of run after has 'nonsense'")


def test_walk_on_a_terminal_takes_keys_as_steps(shop):
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        shop.command("walk", "Order failed", "--run", "before"),
        cwd=shop.folder,
        env={**shop.env, "TERM": "xterm", "NO_COLOR": "1"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        close_fds=True,
    )
    os.close(follower)
    seen = ""

    def read_until(words):
        nonlocal seen
        while words not in seen:
            seen += os.read(leader, 4096).decode()
        before, _, seen = seen.partition(words)
        return before

    try:
        read_until("q quit")
        for key, said in (
            ("\x1b[D", "Stock.mark_sold defined item 17"),
            ("b", "Order failed: item 17"),
            ("o", "out to its opener: request order began"),
            ("?", "q quit"),
        ):
            os.write(leader, key.encode())
            read_until(said)
        os.write(leader, b"q")
        assert process.wait(120) == 0
    finally:
        process.kill()
        os.close(leader)
