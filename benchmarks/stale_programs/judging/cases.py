"""The table of the programs for judging."""

from __future__ import annotations

from stale_programs.case import Case

FOLDER = "judging"

CASES = (
    Case(
        "thermostat", FOLDER, "threads", "dataclass field, by setattr", "no heat at 4.5 degrees",
        "apply", "holiday_plan|remote-control", "target|lowest", "setattr(settings, command.field, command.value)",
    ),
    Case(
        "print_pool", FOLDER, "threads", "deque", "laser-1 was retired",
        "Pool.hand_in", r"Maintenance\.inspect|inspect|maintenance", "_idle", "self._idle.appendleft(printer)",
    ),
    Case(
        "price_cache", FOLDER, "threads", "cache in a global dict", "label says 'tea 3.10'",
        "label_for", "preload|preloader", "labels", 'labels[article] = f"{article} {format_price(prices[article])}"',
    ),
    Case(
        "report_scheduler", FOLDER, "threads", "class attribute", "the report of tuesday was skipped",
        "Scheduler.pause", r"back_up|housekeeping\w*", "paused", "cls.paused = True",
    ),
    Case(
        "tenant_context", FOLDER, "tasks", "dict in a context variable, by update", "user of north was shown",
        "impersonate", "look_up_ticket|support-tool", "tenant|scope", "scope.get().update(user=user, tenant=tenant)",
    ),
    Case(
        "order_book", FOLDER, "tasks", "attribute, object replaced", "best bid 100 is of change 1",
        "Market.adopt", "resynchronize|resync", "book", "self.book = book",
    ),
    Case(
        "download_progress", FOLDER, "tasks", "dict item, lost update", "download is stuck at 1",
        "finish_part", "fetch|part-a", "done", 'progress["done"] = done + 1',
    ),
    Case(
        "seat_bookings", FOLDER, "SQLite", "row, replaced by an import", "seat 12C of nora",
        "assign", "import_bookings|partner_import|partner-import", "booking|12C",
        'query("REPLACE INTO booking (seat, guest) VALUES (?, ?)", seat, guest)',
    ),
    Case(
        "leaderboard", FOLDER, "redis", "hash field, lost update", "ida has 40 points",
        "Board.save", "recount", "points|ida", 'self.server.hset("points", player, points)',
    ),
    Case(
        "deploy_lock", FOLDER, "redis", "string, removed", "the lock of web is held by None",
        "Deployment.unlock", "deploy_docs|deploy-docs", "lock:production", "self.redis.delete(LOCK)",
    ),
)  # fmt: skip
