"""The commands of `clew`, for click: finds the one that is named and loads no other; what click refuses is a `Mistake`."""

from __future__ import annotations

import gc
import importlib
from typing import Any

import click

from clew.cli.saying import Mistake, ReaderIsGone
from clew.records.tuples import NamedTuple


class Entry(NamedTuple):
    module: str
    help: str


COMMANDS = {
    "run": Entry("clew.cli.run", "Record a program: `clew run -- python app.py`."),
    "attach": Entry("clew.cli.attach", "Record a program that runs already: `clew attach PID`."),
    "detach": Entry("clew.cli.detach", "End the recording of a running program."),
    "why": Entry("clew.cli.why", "Walk back from a log line to its cause."),
    "walk": Entry("clew.cli.walk", "Walk from event to event: causes, effects, what is around."),
    "diff": Entry("clew.cli.diff", "Say what changed between runs: which functions, which requests."),
    "analyse": Entry("clew.cli.analyse", "Analyse errors, critical paths or a regression, guided."),
    "patterns": Entry("clew.cli.patterns", "Show what threads and tasks do again and again."),
    "localize": Entry("clew.cli.localize", "Rank the services and functions to look at, with reasons."),
    "slice": Entry("clew.cli.slice", "List everything that led to some events, or followed from them."),
    "path": Entry("clew.cli.path", "Show where the time to an event went: its critical path."),
    "aggregate": Entry("clew.cli.aggregate", "Sum a run by function, class, module, component, process, …"),
    "sql": Entry("clew.cli.sql", "Ask a run's tables in SQL."),
    "import": Entry("clew.cli.import_", "Make a run of others' traces: OTLP, Jaeger, Zipkin, Chrome, …"),
    "export": Entry("clew.cli.export", "Write a run as OTLP or for Perfetto."),
    "python": Entry("clew.cli.python", "Open a Python prompt with a run at hand."),
    "runs": Entry("clew.cli.runs", "List the recorded runs."),
    "cluster": Entry("clew.cli.cluster", "Cut a run into parts, and ask it on many machines."),
    "view": Entry("clew.cli.view", "Open the panel in a browser."),
    "relay": Entry("clew.cli.relay", "Pass on what recorded programs do now, to whoever watches."),
    "report": Entry("clew.cli.report", "Write a run's answers into one HTML file for others."),
    "check": Entry("clew.cli.check", "Check a spec against the source code."),
    "packs": Entry("clew.cli.packs", "List what `include` can add to a spec, and what it costs."),
    "fmt": Entry("clew.cli.fmt", "Format specs."),
    "lsp": Entry("clew.cli.lsp", "Start the language server, for an editor."),
}
"""In the order of the help. The attribute of the module has the command's name; the text stands here, so that `clew --help`
loads no command at all."""
ATTRIBUTES = {"slice": "slice_", "import": "import_"}
"""Commands whose name is a builtin's or a keyword."""


class LazyGroup(click.Group):
    """A group that imports a subcommand when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = getattr(importlib.import_module(entry.module), ATTRIBUTES.get(cmd_name, cmd_name))
        assert isinstance(command, click.Command)
        # What is loaded stays: no collection needs to look through it, not the three at the end of the process either.
        gc.freeze()
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0] if args else ""
        if args and name not in COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean `clew {near[0]}`?" if near else "`clew --help` lists the commands"
            raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Click would take it for its own and exit with 1.
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

    Records a running Python program and walks back from a log line to its cause, through threads, tasks, queues and
    processes.

    \b
    Examples:
      clew run -- python app.py          record a run
      clew why 'Write request failed'    why was that logged?
      clew diff before after             which function got slower?
    """


def called(arguments: list[str] | None) -> int:
    """Runs a command line and returns its exit code. Raises `Mistake` for what click has against it."""
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
