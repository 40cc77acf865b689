"""Messages, locks, state, handlers and requests, each of which a spec can name."""

import threading


class Message:
    def __init__(self, number, text):
        self.id, self.text, self.headers = number, text, {}


class Mailbox:
    def __init__(self):
        self.waiting, self.lock, self.index = [], threading.Lock(), {}

    def post(self, message):
        self.waiting.append(message)

    def take(self):
        return self.waiting.pop(0)

    def collect(self):
        taken, self.waiting = self.waiting, []
        return taken

    def lock_up(self):
        self.lock.acquire()

    def unlock(self):
        self.lock.release()

    def remember(self, name, value):
        self.index[name] = value

    def look_up(self, name):
        return self.index[name]


def work(batch):
    return len(batch)


def on_message(message):
    if not message.text:
        raise ValueError("empty")
    return message.text.upper()


def serve(method, path):
    route(method, path)
    return path


def route(method, path):
    return path[:8] + "{id}"


def outcome(value):
    if value < 0:
        raise KeyError(value)
    return value * 2


def main():
    box = Mailbox()
    box.post(Message(1, "a"))
    box.post(Message(2, "b"))
    box.take()
    work(box.collect())
    box.lock_up()
    box.unlock()
    box.lock_up()
    box.remember("x", 5)
    box.look_up("x")
    on_message(Message(1, "a"))
    try:
        on_message(Message(3, ""))
    except ValueError:
        pass
    serve("GET", "/chunks/1")
    serve("PUT", "/chunks/2")
    outcome(4)
    try:
        outcome(-4)
    except KeyError:
        pass


if __name__ == "__main__":
    main()
