"""What the text of an SQL statement says about the rows that it reads and writes."""

from __future__ import annotations

import pytest

from clew.instrument.adapters.databases.statements import MOST_CHARACTERS, Statement, statements_of


def told(statement: Statement) -> str:
    def text(values):
        return ", ".join(
            f"{name}={f':{value.parameter}' if value.parameter else value.literal if value.is_known else '…'}"
            for name, value in values.items()
        )

    where = f" where {text(statement.where)}" if statement.where else ""
    rows = "".join(f" ({text(row)})" for row in statement.rows)
    columns = f" columns {' '.join(statement.columns)}" if statement.columns else ""
    return f"{statement.do} {statement.table}{where}{'' if statement.exact else ' …'}{rows}{columns}"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT n FROM stock WHERE sku = ?", ["read stock where sku=:1 columns n sku"]),
        ('select * from main."Stock" where (id = ?) order by n limit 1', ["read stock where id=:1"]),
        (
            "SELECT n FROM stock AS s WHERE s.sku = :sku AND s.lot IS NULL",
            ["read stock where sku=:sku, lot=None columns n s sku lot"],
        ),
        ("SELECT n FROM stock WHERE sku = ? OR lot = 3", ["read stock … columns n sku lot"]),
        ("SELECT n FROM stock WHERE lot > 3 AND sku = 'a''b'", ["read stock where sku=a'b … columns n lot sku"]),
        ("SELECT n FROM stock WHERE lot BETWEEN 1 AND 2", ["read stock … columns n lot"]),
        ("SELECT count(*) FROM stock -- all of them", ["read stock"]),
        ("SELECT 2 * n FROM stock", ["read stock columns n"]),
        ("SELECT a.n FROM stock a JOIN shop b ON a.shop = b.id WHERE a.sku = ?", ["read stock …", "read shop …"]),
        ("SELECT n FROM stock, shop WHERE sku = ?", ["read stock …", "read shop …"]),
        ("SELECT n FROM stock WHERE sku IN (SELECT sku FROM shop)", ["read stock …", "read shop …"]),
        ("UPDATE stock SET n = ?, m = m + 1 WHERE sku = ? AND lot = -3", ["write stock where sku=:2, lot=-3 (n=:1, m=…)"]),
        ("UPDATE OR IGNORE stock SET (a, b) = (1, 2)", ["write stock (a=…, b=…)"]),
        ("UPDATE stock SET n = 1 WHERE sku = lower(?)", ["write stock … (n=1)"]),
        ("UPDATE stock SET n = shop.n FROM shop WHERE sku = 1", ["write stock … (n=…)", "read shop …"]),
        ("INSERT INTO stock VALUES ('a', 1), (?, NULL)", ["write stock (1=a, 2=1) (1=:1, 2=None)"]),
        ("REPLACE INTO stock (sku, n) VALUES (?2, ?1)", ["write stock (sku=:2, n=:1)"]),
        ("INSERT INTO stock (sku) VALUES (?) ON CONFLICT DO NOTHING", ["write stock (sku=:1)"]),
        ("INSERT INTO stock SELECT * FROM shop", ["write stock …", "read shop …"]),
        ("WITH old AS (SELECT 1) DELETE FROM stock WHERE sku = 1", ["delete stock …"]),
        ("DELETE FROM stock WHERE sku = 'a' LIMIT 1", ["delete stock where sku=a"]),
        ("DROP TABLE IF EXISTS stock", ["delete stock"]),
        ("CREATE TABLE stock (sku TEXT, [n] INT DEFAULT (1), PRIMARY KEY (sku, n))", ["define stock columns sku n"]),
        ("UPDATE other.stock SET n = 1", ["write other.stock (n=1)"]),
        ("PRAGMA user_version", []),
        ("SELECT 1", []),
        ("INSERT INTO", []),
        ("UPDATE stock SET n = 1 WHERE ((", ["write stock … (n=1)"]),
        ("", []),
    ],
)  # fmt: skip
def test_statement_is_read_for_its_tables_and_rows(sql, said):
    found = [told(statement) for statement in statements_of(sql)]
    assert [each for each in said if each not in found] == []
    assert len(found) >= len(said)


@pytest.mark.parametrize(
    "sql", ["'", '"', "((((", "SELECT FROM WHERE", "INSERT INTO t VALUES (", "\x00", "SELECT " * 9000]
)
def test_statement_that_is_not_sql_is_not_an_error(sql):
    assert isinstance(statements_of(sql), tuple)


def test_very_long_statement_is_not_read():
    assert statements_of(f"SELECT n FROM stock WHERE sku = '{'a' * MOST_CHARACTERS}'") == ()
