"""Say in words how a value came about: one sentence per step of its chain."""

from __future__ import annotations

from collections.abc import Mapping

from clew.compare.failures.unreached import Unreached
from clew.graph.values.chain import Chain, ValueStep
from clew.graph.values.deciding_branch import deciding_branch
from clew.graph.values.flow import Call, Flow, NodeKind
from clew.graph.values.omissions import Omission
from clew.graph.values.statements import Input, Statements
from clew.server.protocol.shared import Location
from clew.server.protocol.views.value import ValueStepText
from clew.server.text import units
from clew.server.text.events import shorten

_LONGEST_VALUE = 60
_MOST_NAMED = 3
"""How many inputs a sentence names."""
_NAMELESS = {
    "<listcomp>": "the comprehension",
    "<dictcomp>": "the comprehension",
    "<setcomp>": "the comprehension",
    "<genexpr>": "the generator expression",
    "<lambda>": "the lambda",
}
_STATE = (NodeKind.ATTRIBUTE, NodeKind.ITEM)


class ValueWords:
    """Words for the steps of one trace."""

    def __init__(
        self,
        flow: Flow,
        statements: Statements,
        thread: int = 0,
        base: str | None = None,
        *,
        tells_calls: bool = True,
        not_raised: Mapping[int, int] | None = None,
    ) -> None:
        self._tells_calls = tells_calls
        """Whether a call that was asked about matters for its arguments, as that of a log line, not for its result."""
        self.flow, self._statements, self._base = flow, statements, base
        self._trace = flow.trace
        self._not_raised = not_raised or {}
        """By branch: the line of the `raise` that it kept from running."""
        self._thread = thread
        """The thread that needs no mention: the one whose value is asked about."""

    def value(self, item: int, node: int = 0) -> str:
        """Return a value as a person would write it, as it was when a node had it.

        What can change is told as it was at the end only if nothing changed it in between.
        """
        if item < 0:
            return "nothing"
        row = self._trace.objects[item]
        if row.text is not None and row.kind not in ("function", "method", "builtin", "class", "module"):
            return row.text
        kind = self._type_name(item)
        length = self.flow.length.get(node)
        end = self._trace.ends.get(item)
        if end is not None and self._is_as_at_end(item, node, length):
            return end if len(end) <= _LONGEST_VALUE else f"{end[: _LONGEST_VALUE - 1]}…"
        if length is not None:
            return f"a {kind} of {units.count(length, 'item')}"
        if row.kind in ("function", "method", "builtin", "class", "module") and row.text:
            return row.text
        return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"

    def _type_name(self, item: int) -> str:
        row = self._trace.objects[item]
        kind = self._trace.objects[row.type].text if row.type >= 0 else None
        return (kind or row.kind).rpartition(".")[2]

    def _value_of(self, node: int) -> str:
        return self.value(self.flow.object[node], node)

    def _is_as_at_end(self, item: int, node: int, length: int | None) -> bool:
        """Return whether no followed instruction changed an object after a node, nor anything its length."""
        flow = self.flow
        return node > 0 and flow.last_change.get(item, 0) <= node and flow.last_length.get(item, length) == length

    def function(self, call: Call) -> str:
        """Return the name of a call's function; a function without a name is told by the one around it."""
        name = self._trace.codes[call.code].name.replace(".<locals>", "")
        outer, _, last = name.rpartition(".")
        if last in _NAMELESS:
            return f"{_NAMELESS[last]} in {outer}" if outer else _NAMELESS[last]
        if last == "<module>":
            return f"module {self._trace.codes[call.code].module}"
        return name

    def call(self, call: Call) -> str:
        """Return a call with its arguments, without `self`."""
        code = self._trace.codes[call.code]
        if code.name.rpartition(".")[2] in ("<module>", *_NAMELESS):
            return self.function(call)
        shown = []
        for place, node in enumerate(call.parameters):
            name = code.variables[place] if place < len(code.variables) else ""
            if not node or (place == 0 and name in ("self", "cls")) or name.startswith("."):
                continue
            text = self._value_of(node)
            shown.append(text if len(text) <= 24 else f"{text[:23]}…")
        if len(shown) > 4:
            shown = [*shown[:4], "…"]
        return f"{self.function(call)}({', '.join(shown)})"

    def sentence(self, step: ValueStep) -> str:
        """Return the sentence of a step, without its place and full stop."""
        text = self._sentence(step)
        if step.parent < 0 and step.node in self._not_raised:
            return f"{self._raise_at(step.node)} did not run: {text}"
        if step.skipped:
            return f"{units.count(step.skipped, 'step')} further back: {text}"
        name = step.explains.name if step.explains is not None else ""
        passed = [f"{self.function(self._caller(node))} ({self.place(node)})" for node in step.passed if node]
        if name and passed:
            return f"{name}, passed by {units.listed(passed[:_MOST_NAMED])}: {text}"
        if not name or text.startswith(name) or step.statement.target == name:
            return text
        # The step explains a value that its parent knows under another name.
        return f"{name}: {text}"

    def _sentence(self, step: ValueStep) -> str:
        flow, node = self.flow, step.node
        kind = flow.kind[node]
        target = step.statement.target
        if kind == NodeKind.EARLIER:
            holder, name = flow.holders.get(node, (-1, target))
            owner = f"{self._type_name(holder)}." if holder >= 0 and self._is_object(holder) else ""
            return f"{owner}{name} was {self._value_of(node)} before the first step that was followed"
        call = flow.calls[flow.call[node]]
        because = self._because(step)
        if kind == NodeKind.BRANCH:
            return self._branch(step)
        if kind == NodeKind.CALLED:
            return f"{self.function(call)} called {self._callee(node)}{because}"
        if kind == NodeKind.RAISED:
            return f"{self.function(call)} raised {self._value_of(node)}{because}"
        if kind == NodeKind.RESULT:
            return f"{self.call(call)} returned {self._value_of(node)}{because}"
        if kind == NodeKind.PARAMETER:
            if call.caller < 0:
                return f"{self.function(call)} got {target} = {self._value_of(node)} from code that was not followed"
            caller = self.function(flow.calls[call.caller])
            return f"{caller} called {self.call(call)}{because}"
        if kind == NodeKind.ITEM and not target:
            return f"{self.call(call)} made {self._value_of(node)}{because}"
        if self._is_change(node):
            done = f"put {self._value_of(node)} in" if flow.object[node] >= 0 else "changed it"
            return f"{target} {done}, in {self.call(call)}{self._called_by(call)}{because}"
        if kind in _STATE:
            done = f"was set to {self._value_of(node)}"
            if flow.object[node] < 0:
                done = "was deleted" if kind == NodeKind.ATTRIBUTE else "was changed"
            return f"{target} {done} by {self.call(call)}{self._called_by(call)}{because}{self._changed_since(step)}"
        if (
            self._tells_calls
            and kind == NodeKind.EXPRESSION
            and step.parent < 0
            and self._instruction(node).startswith("CALL")
        ):
            return f"{self._statements.segment(node)} ran{because}"
        if target:
            return f"{target} is {self._value_of(node)}{because}"
        return f"{self._statements.segment(node)} is {self._value_of(node)}{because}"

    def _changed_since(self, step: ValueStep) -> str:
        """Say that a state did not keep the value that was stored, as where a library converted it."""
        read, stored = step.explains, self.flow.object[step.node]
        if read is None or self.flow.kind[step.node] != NodeKind.ATTRIBUTE or min(stored, read.object) < 0:
            return ""
        if read.object == stored or self.value(read.object, read.read) == self.value(stored, step.node):
            return ""
        return f"; code that was not followed made it {self.value(read.object, read.read)}"

    def _raise_at(self, branch: int) -> str:
        """Return the `raise` statement that a branch kept from running, with its place."""
        file, line = self.flow.code_of(branch).file, self._not_raised[branch]
        lines = self._statements.lines(file)
        text = shorten(lines[line - 1].strip(), _LONGEST_VALUE) if 0 < line <= len(lines) else "raise"
        text += "…)" if text.endswith("(") else ""
        return f"`{text}` ({units.place(file, line, self._base)})"

    def _caller(self, called: int) -> Call:
        return self.flow.calls[self.flow.call[called]]

    def _callee(self, called: int) -> str:
        """Return the call that a CALLED node began."""
        return next((self.call(one) for one in self.flow.calls if one.node == called), self._statements.segment(called))

    def _instruction(self, node: int) -> str:
        return self.flow.code_of(node).instructions[self.flow.instruction[node]].name

    def _is_object(self, item: int) -> bool:
        return self._trace.objects[item].kind != "dict"

    def _called_by(self, call: Call) -> str:
        if call.caller < 0:
            return self._in_thread(call)
        caller = self.flow.calls[call.caller]
        return f", called by {self.function(caller)} ({self.place(call.node)}){self._in_thread(call)}"

    def _in_thread(self, call: Call) -> str:
        return "" if call.thread == self._thread else f" in thread {self._trace.threads[call.thread]}"

    def _branch(self, step: ValueStep) -> str:
        flow, node = self.flow, step.node
        tested = next(iter(flow.data[node]), 0)
        name = flow.code_of(node).instructions[flow.instruction[node]].name
        if name == "FOR_ITER":
            if flow.object[tested] >= 0 and flow.kind[tested] == NodeKind.EXPRESSION and flow.pointers[node]:
                return f"the loop got {self._value_of(tested)}{self._because(step)}"
            return f"the loop ended{self._because(step)}"
        condition = ""
        if flow.call[tested] == flow.call[node]:
            condition = self._statements.segment(tested) or self._statements.target(tested)
        condition = condition or self._statements.segment(node)
        outcome = self._value_of(tested)
        return f"{condition} was {outcome}{self._because(step, condition)}"

    def _because(self, step: ValueStep, known: str = "") -> str:
        """Return what the step's value was made from; `known` is the name of an input that the sentence told."""
        inputs = step.statement.inputs
        if not inputs:
            return ""
        own = self.flow.object[step.node]
        if len(inputs) == 1 and inputs[0].object == own and own >= 0:
            return f", from {inputs[0].name}" if inputs[0].name else ""
        # A method that changed a container is told as a step of its own; its text is not a value.
        values = [one for one in inputs if one.name and one.name != known and not self._is_change(one.node)]
        named = [f"{one.name} is {self._input_value(one)}" for one in values]
        if not named:
            return ""
        more = len(named) - _MOST_NAMED + step.statement.more_inputs
        shown = named[:_MOST_NAMED]
        if more > 0:
            return f", because {', '.join(shown)}, and {units.count(more, 'further value')}"
        return f", because {units.listed(shown)}"

    def _is_change(self, node: int) -> bool:
        return self.flow.kind[node] == NodeKind.ITEM and self._instruction(node).startswith("CALL")

    def _input_value(self, one: Input) -> str:
        return self.value(one.object, one.read)

    def place(self, node: int) -> str:
        """Return the file and line of a node."""
        flow, node = self.flow, self._at(node)
        if flow.call[node] < 0:
            return ""
        return units.place(flow.code_of(node).file, flow.line_of(node), self._base)

    def _at(self, node: int) -> int:
        """Return the node whose place is shown: an argument is where the call is."""
        flow = self.flow
        if flow.kind[node] == NodeKind.PARAMETER:
            return flow.calls[flow.call[node]].node or node
        return node

    def location(self, node: int) -> Location | None:
        """Return the file and line of a node as data."""
        flow, node = self.flow, self._at(node)
        return Location(flow.code_of(node).file, flow.line_of(node)) if flow.call[node] >= 0 else None

    def label(self, node: int) -> str:
        """Return the label of the function that made a node; "" if it is not known."""
        flow = self.flow
        if flow.call[node] < 0:
            return ""
        code = flow.code_of(node)
        return f"{code.module}:{code.name}"

    def omission_branch(self, one: Omission) -> int:
        """Return the branch that kept a store from running; 0 if that is not known."""
        call = self.flow.calls[one.call]
        return deciding_branch(self.flow, [call.code], one.line, call.number) if one.line else 0

    def unreached_branch(self, one: Unreached) -> int:
        """Return the branch that kept a function that ran from reaching a line; 0 if that is not known."""
        if one.is_function:
            return 0
        file, function = one.function
        codes = (
            number
            for number, code in enumerate(self._trace.codes)
            if code.file == file and code.name.replace(".<locals>", "") == function.replace(".<locals>", "")
        )
        return deciding_branch(self.flow, codes, one.line)

    def steps(self, chain: Chain) -> list[ValueStepText]:
        """Return the steps of a chain as texts, each with its depth and its line."""
        found: list[ValueStepText] = []
        for step in chain.steps:
            depth = found[step.parent].depth + 1 if step.parent >= 0 else 0
            location = self.location(step.node)
            lines = self._statements.lines(location.path) if location is not None else []
            text = lines[location.line - 1].strip() if location is not None and 0 < location.line <= len(lines) else ""
            found.append(
                ValueStepText(self.sentence(step), depth, step.is_control, location, self.label(step.node), text)
            )
        return found

    def omission(self, one: Omission) -> str:
        """Say what a function left undone."""
        call = self.flow.calls[one.call]
        owner = f"the {self._type_name(one.object)}'s {one.attribute}"
        if one.is_idle:
            return f"{self.call(call)} changed nothing, neither {owner} nor anything else"
        if one.line:
            return f"{self.call(call)} did not reach line {one.line}, which sets {owner}"
        return f"{self.call(call)} did not set {owner}"

    def call_location(self, one: Omission) -> Location:
        """Return the place of an omission."""
        code = self._trace.codes[self.flow.calls[one.call].code]
        return Location(code.file, one.line or code.line)
