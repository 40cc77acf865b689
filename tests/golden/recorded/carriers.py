"""Messages that carry a cause in every form there is."""

import os


class Message:
    def __init__(self, text):
        self.text = text


class Slotted:
    __slots__ = ("trace",)


def send(carrier):
    pass


def receive(carrier):
    pass


def start(environment):
    pass


def begin(environment):
    pass


def publish(message):
    pass


def consume(message):
    pass


def serve(scope):
    pass


def main():
    for carrier in (
        [],
        {},
        {b"host": b"a"},
        [(b"host", b"a")],
        [("host", b"a"), ("Traceparent", b"of no form")],
        [],
        (("host", "a"),),
        7,
    ):
        send(carrier)
        receive(carrier)
    later = []
    send(later)
    ((name, header),) = later
    assert name == "traceparent" and type(header) is bytes  # as the list before had them
    environment = dict(os.environ)
    start(environment)
    assert environment["TRACEPARENT"].startswith("00-")
    begin(environment)
    for message in (Message("a"), Slotted()):
        publish(message)
        assert message.trace.startswith("00-")
        consume(message)
    headers = [(b"host", b"a")]
    send(headers)
    assert type(headers[-1]) is tuple and type(headers[-1][1]) is bytes
    serve({"headers": headers})


if __name__ == "__main__":
    main()
