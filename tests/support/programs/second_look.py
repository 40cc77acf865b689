"""Run a small program under the tracer of values, and ask how a value of it came about."""

import sys
import textwrap

from clew.graph.values.chain import chain_of
from clew.graph.values.criteria import of_expression, of_failure
from clew.graph.values.replay import replay
from clew.graph.values.statements import Statements
from clew.instrument.values.look_request import LookRequest
from clew.instrument.values.second_look import look_at_program
from clew.records.values.trace_files import read_value_trace
from clew.server.text.value_chain import ValueWords


class Looked:
    """A second look at a program, whose source has a comment `# here` at each line that is asked about."""

    def __init__(self, folder, source, *, python="", limits=None):
        self.file = folder / "app.py"
        self.file.write_text(textwrap.dedent(source))
        request = LookRequest(str(folder / "look"), str(folder))
        if limits is not None:
            request = request._replace(limits=limits)
        self.look = look_at_program([sys.executable, "app.py"], folder, request, python=python)
        self.trace = read_value_trace(folder / "look")
        self.lines = self.file.read_text().splitlines()

    def flow(self):
        flow = replay(self.trace)
        return flow, Statements(flow, lambda file: self.lines if file == str(self.file) else [])

    def line(self, mark):
        (found,) = (number for number, line in enumerate(self.lines, 1) if line.endswith(f"# {mark}"))
        return found

    def why(self, expression, mark="here", most=12):
        """Return the sentences about a value at the marked line, each with its line's number."""
        flow, statements = self.flow()
        criterion = of_expression(flow, statements, expression, str(self.file), self.line(mark))
        return self._told(flow, statements, criterion, most)

    def why_failed(self, most=12):
        """Return the sentences about the exception that ended the program."""
        flow, statements = self.flow()
        return self._told(flow, statements, of_failure(flow, self.trace.outcome.exception), most)

    @staticmethod
    def _told(flow, statements, criterion, most):
        chain = chain_of(flow, statements, list(criterion.nodes), most)
        thread = flow.calls[flow.call[criterion.nodes[0]]].thread
        words = ValueWords(flow, statements, thread, not_raised=criterion.not_raised)
        return [f"{words.sentence(step)} (line {flow.line_of(step.node)})" for step in chain.steps]
