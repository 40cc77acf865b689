"""Dispatch the commands of `clew` through click: import only the named command and turn click's errors into `Mistake`."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import click

from clew.cli.output.stderr import Mistake, ReaderIsGone
from clew.records.fast_namedtuple import NamedTuple


class Entry(NamedTuple):
    """One command. To add a command, write its module and its entry in `COMMANDS`; nothing else repeats the list."""

    module: str
    help: str


COMMANDS = {
    "run": Entry("clew.cli.commands.record.run", "Record a program: `clew run -- python app.py`."),
    "attach": Entry("clew.cli.commands.record.attach", "Record a running program: `clew attach PID`."),
    "detach": Entry("clew.cli.commands.record.detach", "End the recording of a running program."),
    "why": Entry("clew.cli.commands.answer.why", "Walk back from a log line to its cause."),
    "hang": Entry("clew.cli.commands.answer.hang", "Show who waits for whom in a program that hangs: `clew hang PID`."),
    "walk": Entry("clew.cli.commands.answer.walk", "Explore the graph from an event: causes, effects, neighbours."),
    "diff": Entry("clew.cli.commands.answer.diff", "Compare runs: changed functions, changed requests."),
    "analyse": Entry(
        "clew.cli.commands.answer.analyse", "Analyse errors, critical paths or a regression with a guide."
    ),
    "patterns": Entry("clew.cli.commands.answer.patterns", "Show the call sequences that threads and tasks repeat."),
    "localize": Entry(
        "clew.cli.commands.answer.localize", "Rank the services and functions to inspect, with evidence."
    ),
    "slice": Entry("clew.cli.commands.answer.slice", "List all causes or all effects of some events."),
    "path": Entry("clew.cli.commands.answer.path", "Show the critical path to an event: where the time went."),
    "aggregate": Entry(
        "clew.cli.commands.answer.aggregate", "Sum a run by function, class, module, component, process, …"
    ),
    "sql": Entry("clew.cli.commands.answer.sql", "Query a run's tables with SQL."),
    "import": Entry("clew.cli.commands.runs.import_", "Import traces of other tools: OTLP, Jaeger, Zipkin, Chrome, …"),
    "export": Entry("clew.cli.commands.runs.export", "Export a run as OTLP or for Perfetto."),
    "python": Entry("clew.cli.commands.answer.python", "Open a Python prompt with a run loaded."),
    "runs": Entry("clew.cli.commands.runs.runs", "List the recorded runs."),
    "cluster": Entry("clew.cli.commands.runs.cluster", "Partition a run and query it on many machines."),
    "view": Entry("clew.cli.commands.runs.view", "Open the panel in a browser."),
    "relay": Entry("clew.cli.commands.record.relay", "Stream live recordings to viewers and other machines."),
    "report": Entry("clew.cli.commands.runs.report", "Write a run's answers to one HTML file to share."),
    "check": Entry("clew.cli.commands.spec.check", "Check a spec against the source code."),
    "packs": Entry("clew.cli.commands.spec.packs", "List the packs that a spec can `include`, with their cost."),
    "fmt": Entry("clew.cli.commands.spec.fmt", "Format specs."),
    "doctor": Entry("clew.cli.commands.runs.doctor", "Check whether recording works here, for bug reports."),
    "lsp": Entry("clew.cli.commands.spec.lsp", "Start the language server for an editor."),
}
"""Commands in the order of the help. Each module has an attribute with the command's name, with a trailing `_` after the
name of a builtin or a keyword. The help text is repeated here so that `clew --help` loads no command module."""


class LazyGroup(click.Group):
    """Import a subcommand when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module = importlib.import_module(entry.module)
        command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name)
        assert isinstance(command, click.Command)
        # Loaded objects live until exit: frozen, they are skipped by every collection, also by the three at the end of
        # the process.
        gc.freeze()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if args and name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean `clew {near[0]}`?" if near else "run `clew --help` for a list of commands"
            raise click.UsageError(f"unknown command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Click would handle BrokenPipeError itself and exit with 1.
            raise ReaderIsGone from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def _print_version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from clew import __version__

        click.echo(f"clew {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Show the version."
)
def clew() -> None:
    """clew: why did this happen?

    Record a running Python program and walk back from a log line to its cause, through threads, tasks, queues and
    processes.

    \b
    Examples:
      clew run -- python app.py          record a run
      clew why 'Write request failed'    why was that logged?
      clew diff before after             which function got slower?
    """


def called(arguments: list[str] | None) -> int:
    """Run a command line and return its exit code. Raises `Mistake` when click rejects the command line."""
    try:
        code = clew.main(arguments, prog_name="clew", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        raise Mistake(_lower(error.format_message()), error.ctx.command_path if error.ctx else "clew") from None
    except click.ClickException as error:
        raise Mistake(_lower(error.format_message())) from None
    except click.Abort:
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else 0


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:] if message[1:2].islower() else message
