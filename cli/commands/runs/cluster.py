"""`clew cluster`: partition runs that outgrow one machine, and query the partitions here or with Ray."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from clew.cli.output.options import (
    json_option,
    open_session,
    print_json,
    print_problems,
    show,
    table,
    workspace_option,
)

engine_option = click.option(
    "--engine",
    metavar="ENGINE",
    help="Engine: local (this process, the default), ray (started here, or RAY_ADDRESS), or ray://HOST:PORT.",
)


@click.group()
def cluster() -> None:
    """Partition a run and query it on many machines.

    A partitioned run is a folder, or a URL of an object store (s3://, gs://, …) that all machines reach. Every
    partition holds whole processes, as Parquet tables and arrays. Ray (`pip install 'clew[cluster]'`) runs one
    restartable worker per partition. In Python: `clew.open(FOLDER, engine="ray")`. See docs/scale.md for the sizes to
    expect.

    \b
    Examples:
      clew cluster partition checkout -o parts/
      clew cluster check parts/
      clew cluster slice parts/ 4711 --forward --engine ray
      clew cluster aggregate parts/ --level process --engine ray://head:10001
    """


@cluster.command()
@click.argument("run", required=False, default="")
@click.option("-o", "--out", required=True, metavar="FOLDER", help="A new folder, or a URL.")
@click.option(
    "--parts", type=click.IntRange(1), metavar="N", help="Number of partitions. Default: one per machine of the run."
)
@workspace_option
def partition(*, run: str, out: str, parts: int | None, workspace: Path | None) -> None:
    """Partition a run by machine, and by process where machines are too large or too few.

    RUN is a run's id, name or folder, or a trace of another tool; the default is the newest run.

    \b
    Examples:
      clew cluster partition -o parts/
      clew cluster partition checkout -o s3://bucket/checkout --parts 8
    """
    from clew.query.engines.partition_files import partition as write
    from clew.server.text import units

    opened = open_session(workspace).open(run)
    made = write(opened.graph, out, parts, tuple(opened.problems))
    fewer = f" (not {parts}: processes are never split)" if parts is not None and made < parts else ""
    events = units.count(len(opened.graph), "event")
    click.echo(f"{out}: run {opened.info.name} in {units.count(made, 'part')}{fewer}, {events}")
    print_problems(opened)


@cluster.command()
@click.argument("folder")
@json_option
def check(*, folder: str, as_json: bool) -> None:
    """List the partitions of a run and verify all their files; missing and damaged files are reported.

    \b
    Examples:
      clew cluster check parts/
      clew cluster check s3://bucket/checkout --json
    """
    from clew.query.engines.partition_files import part_name, read_manifest, read_part

    manifest = read_manifest(folder)
    parts = []
    for number, about in enumerate(manifest.parts):
        read_part(folder, manifest, number)
        size = sum(size for size, _ in about["files"].values())
        named = {"part": part_name(number), "processes": len(about["processes"]), "machines": len(about["machines"])}
        parts.append(
            named | {name: about[name] for name in ("events", "edges", "outgoing", "incoming")} | {"bytes": size}
        )
    if as_json:
        print_json({"run": manifest.info.id, "name": manifest.info.name, "parts": parts})
        return
    rows = table(*parts[0], right=tuple(name for name in parts[0] if name != "part"))
    for part in parts:
        rows.add_row(*(value if isinstance(value, str) else f"{value:,}" for value in part.values()))
    show(rows)


@cluster.command("slice")
@click.argument("folder")
@click.argument("events", nargs=-1, type=click.IntRange(0), required=True, metavar="EVENT…")
@click.option("--forward", is_flag=True, help="List the effects of the events instead of their causes.")
@click.option("--max-hops", type=click.IntRange(0), metavar="N", help="Maximum edges on a path.")
@click.option("--max-network-hops", type=click.IntRange(0), metavar="N", help="Maximum edges between processes.")
@click.option("--rows", type=click.IntRange(0), default=20, show_default=True, help="Maximum events to print.")
@engine_option
@json_option
def slice_(
    *,
    folder: str,
    events: tuple[int, ...],
    forward: bool,
    max_hops: int | None,
    max_network_hops: int | None,
    rows: int,
    engine: str | None,
    as_json: bool,
) -> None:
    """List the causes of some events of a partitioned run, and the cost of finding them.

    \b
    Examples:
      clew cluster slice parts/ 4711
      clew cluster slice parts/ 17 --forward --max-network-hops 2 --engine ray --json
    """
    from clew.query.engines.engine import PartsSlice
    from clew.query.engines.open import open_parts
    from clew.server.text import units

    run = open_parts(folder, engine)
    try:
        direction: Literal["forward", "backward"] = "forward" if forward else "backward"
        cut = run.slice(*events, direction=direction, max_hops=max_hops, max_network_hops=max_network_hops)
        found = cut.result
        assert isinstance(found, PartsSlice)
        cost = found.traffic
        statistics = {"events": found.count, "edges followed": found.followed, "parts": len(found.parts)}
        network = {"calls": cost.calls, "rounds": cost.rounds, "bytes": cost.bytes, "lost workers": cost.lost}
        names = ("id", "process", "kind", "function", "text")
        listed = [dict(zip(names, row, strict=True)) for row in cut.limit(rows).select(*names)] if rows else []
    finally:
        run.close()
    if as_json:
        print_json({"run": run.info.id, "direction": direction, **statistics, **network, "listed": listed})
        return
    shown = table(*names, right=("id",))
    for row in listed:
        shown.add_row(*(str(value).replace("\n", "⏎") for value in row.values()))
    show(shown)
    followed = f"{units.count(found.followed, 'edge')} followed"
    nouns = {
        "part": len(found.parts),
        "call": cost.calls,
        "round": cost.rounds,
        "byte": cost.bytes,
        "lost worker": cost.lost,
    }
    costs = [units.count(number, noun) for noun, number in nouns.items()]
    click.echo(" · ".join([units.count(found.count, "event"), followed, *costs]))


@cluster.command()
@click.argument("folder")
@click.option(
    "--level", default="function", show_default=True, help="Group by function, class, module, component, process, …"
)
@click.option("--rows", type=click.IntRange(1), default=25, show_default=True, help="Maximum rows to print.")
@engine_option
@json_option
def aggregate(*, folder: str, level: str, rows: int, engine: str | None, as_json: bool) -> None:
    """Sum a partitioned run by function, class, module, component, task, thread, process or machine.

    \b
    Examples:
      clew cluster aggregate parts/
      clew cluster aggregate parts/ --level machine --engine ray
    """
    from clew.query.engines.open import open_parts

    run = open_parts(folder, engine)
    try:
        nodes = sorted(run.aggregate(level).by_label().nodes, key=lambda node: (-node.self_ns, node.label))
    finally:
        run.close()
    columns = ("label", "events", "calls", "self_ns", "total_ns", "waiting_ns", "errors")
    if as_json:
        labels = [{name: getattr(node, name) for name in columns} for node in nodes]
        print_json({"run": run.info.id, "level": level, "labels": labels})
        return
    shown = table(*columns, right=columns[1:])
    for node in nodes[:rows]:
        shown.add_row(node.label, *(f"{getattr(node, name):,}" for name in columns[1:]))
    show(shown)
    if len(nodes) > rows:
        click.echo(f"and {len(nodes) - rows:,} more; use --rows to show more")
