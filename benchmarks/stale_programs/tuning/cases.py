"""The table of the programs for tuning."""

from __future__ import annotations

from stale_programs.case import Case

FOLDER = "tuning"

CASES = (
    Case(
        "shop", FOLDER, "threads", "attribute", "basket of nora@mail.example",
        "Basket.redeem", "greet_customer|campaigns", "percent_off", "self.percent_off = percent",
    ),
    Case(
        "rate_limiter", FOLDER, "threads", "slot, counted with +=", "acme is refused",
        "Window.take", "upload", "used", "self.used += cost()",
    ),
    Case(
        "job_queue", FOLDER, "threads", "list", "job 7 pays Ada again",
        "Jobs.give_back", "watch|watchdog", "waiting", "self.waiting.append(job)",
    ),
    Case(
        "feature_flags", FOLDER, "threads", "global", "nora sees the old checkout",
        "use_flags", "poll|flag-poller", "FLAGS", "FLAGS = flags",
    ),
    Case(
        "session_store", FOLDER, "tasks", "dict, item removed", "session t-17 was renewed",
        "Sessions.drop", "sweep|sweeper", r"by_token|t-17", "self.by_token.pop(token, None)",
    ),
    Case(
        "chat_room", FOLDER, "tasks", "set", "ada is not in garden",
        "Room.leave", r"Connection\.close|close|connection-1", "members", "self.members.discard(user)",
    ),
    Case(
        "telemetry", FOLDER, "tasks", "closure cell", "2 samples are missing",
        "flush", "flush_once|flusher", "unsent", "unsent = unsent - await send(unsent)",
    ),
    Case(
        "stock_rows", FOLDER, "SQLite", "row", "stock of teapot is 9",
        "set_left", "sell_online|online", "stock|pieces|teapot",
        'database.execute("UPDATE stock SET pieces = ? WHERE article = ?", (pieces, article))',
    ),
    Case(
        "account_settings", FOLDER, "SQLite", "row, replaced", "billing of acme is off",
        "Options.put", "set_default|migrate", "option|billing",
        'self.database.execute("INSERT OR REPLACE INTO option VALUES (?, ?, ?)", (account, name, value))',
    ),
    Case(
        "token_cache", FOLDER, "redis", "string", "mail was refused with the old token",
        "Tokens.store", "refresh|refresh_slowly|refresher-a", "token:mail", 'self.server.set(f"token:{service}", token)',
    ),
)  # fmt: skip
