"""A nightly migration, a program of its own, sets an option of all accounts back to its default."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from contextlib import closing

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
log = logging.getLogger("accounts")
SCHEMA = "CREATE TABLE option (account TEXT, name TEXT, value TEXT, PRIMARY KEY (account, name))"


class Options:
    def __init__(self, file: str) -> None:
        self.database = sqlite3.connect(file)

    def get(self, account: str, name: str) -> str:
        found = self.database.execute("SELECT value FROM option WHERE account = ? AND name = ?", (account, name))
        return str(found.fetchone()[0])

    def put(self, account: str, name: str, value: str) -> None:
        self.database.execute("INSERT OR REPLACE INTO option VALUES (?, ?, ?)", (account, name, value))
        self.database.commit()

    def close(self) -> None:
        self.database.close()


class BillingOff(RuntimeError):
    pass


def set_default(options: Options, name: str, value: str) -> None:
    for (account,) in options.database.execute("SELECT DISTINCT account FROM option").fetchall():
        options.put(account, name, value)


def migrate(file: str) -> None:
    with closing(Options(file)) as options:
        set_default(options, "locale", "en")
        set_default(options, "billing", "off")


def send_bill(options: Options, account: str) -> str:
    if options.get(account, "billing") != "on":
        raise BillingOff(f"billing of {account} is off")
    return f"bill for {account}"


def main() -> None:
    if sys.argv[1:2] == ["migrate"]:
        migrate(sys.argv[2])
        return
    with closing(Options("accounts.db")) as options:
        options.database.execute(SCHEMA)
        options.put("acme", "billing", "on")
        options.put("acme", "locale", "de")
        subprocess.run([sys.executable, __file__, "migrate", "accounts.db"], check=True)
        log.info("month ends")
        send_bill(options, "acme")


if __name__ == "__main__":
    main()
