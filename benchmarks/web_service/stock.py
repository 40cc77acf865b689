"""The second service: how many of an item there are, and where. Run as `python stock.py PORT`."""

from __future__ import annotations

import asyncio
import logging
import sys

import uvicorn
from fastapi import FastAPI

logging.basicConfig(level="WARNING", format="%(asctime)s %(levelname)s %(name)s %(message)s")
DEPOTS = {"sku": "Leeds", "bulk": "Hull"}

app = FastAPI()


def depot_of(sku: str) -> str:
    return DEPOTS[sku.partition("-")[0]]


@app.get("/depots/{sku}")
async def depot(sku: str) -> dict[str, object]:
    return {"depot": depot_of(sku)}


@app.get("/counts/{sku}")
async def count(sku: str) -> dict[str, object]:
    if sku.startswith("bulk"):
        await recount(sku)
    return {"count": len(sku)}


async def recount(sku: str) -> None:
    await asyncio.sleep(1.0)


if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", loop="asyncio", http="h11")
