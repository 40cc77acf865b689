"""The shop's HTTP interface: `POST /reserve` and `POST /buy`, with JSON in and out."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bookshop.stock import Stock
from bookshop.warehouse import Order, Warehouse


class Shop(ThreadingHTTPServer):
    def __init__(self, stock: Stock, warehouse: Warehouse) -> None:
        super().__init__(("127.0.0.1", 0), Page)
        self.stock, self.warehouse = stock, warehouse


class Page(BaseHTTPRequestHandler):
    server: Shop

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = self.reserve(body) if self.path == "/reserve" else self.buy(body)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def reserve(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"number": self.server.stock.reserve(body["title"])}

    def buy(self, body: dict[str, Any]) -> dict[str, Any]:
        self.server.warehouse.orders.put(Order(body["number"], body["gift"]))
        return {"bought": body["number"]}

    def log_message(self, *_: Any) -> None:
        """Requests are not logged."""
