"""A program's output and exit are the same recorded as plain, byte for byte, for every kind of call."""

from __future__ import annotations

import textwrap

import pytest

from clew.records.format.event import Kind
from tests.support.programs.same_output import PLAIN, same_in_every_run

WITHIN = {
    "signatures, source and wrappers": """
        def plain(a, /, b: int = 2, *args, c, d=4, **kw) -> str:
            'doc'
            return (a, b, args, c, d, kw)
        def logged(function):
            @functools.wraps(function)
            def inner(*args, **kw):
                return function(*args, **kw)
            return inner
        @logged
        @logged
        def wrapped(x, y=1): 'its doc'; return x + y
        print(inspect.signature(plain), inspect.getsource(plain), inspect.getdoc(plain))
        print(inspect.getfullargspec(plain))
        print(inspect.signature(wrapped), wrapped.__wrapped__.__wrapped__(2), wrapped(1), wrapped.__doc__)
        print(plain.__annotations__, plain.__defaults__, plain.__kwdefaults__)
        print(plain.__code__.co_varnames, plain.__code__.co_flags)
        print(plain.__code__.co_argcount, plain.__code__.co_freevars, plain.__code__.co_names, plain.__code__.co_firstlineno)
        print(inspect.getsourcelines(wrapped), inspect.unwrap(wrapped).__name__, inspect.getclosurevars(logged).globals)
        for call in (lambda: plain(), lambda: wrapped(1, 2, 3), lambda: plain(1, a=2, c=3, e=4)):
            try: print(call())
            except TypeError as error: print(error)
        """,
    "properties, slots and descriptors": """
        class Meta(type):
            def __new__(cls, name, bases, space, **kw): return super().__new__(cls, name, bases, space)
            def __call__(cls, *a): return super().__call__(*a)
            @property
            def kind(cls): return cls.__name__.lower()
        class Doubled:
            def __set_name__(self, owner, name): self.name = '_' + name
            def __get__(self, instance, owner): return self if instance is None else getattr(instance, self.name) * 2
            def __set__(self, instance, value): setattr(instance, self.name, value)
        class Box(metaclass=Meta, extra=1):
            __slots__ = ('_n', 'm', '__weakref__')
            n = Doubled()
            def __init__(self, n): self.n = n
            def __init_subclass__(cls, tag=None): cls.tag = tag
            def __class_getitem__(cls, item): return (cls.__name__, item)
            @property
            def p(self): return self.n
            @p.setter
            def p(self, value): self.n = value
            @p.deleter
            def p(self): del self._n
            @classmethod
            def c(cls): return cls
            @staticmethod
            def s(): return 's'
            @functools.cached_property
            def slow(self): return 1
            @functools.singledispatchmethod
            def shown(self, x): return 'any'
            @shown.register
            def _(self, x: int): return 'int'
            def __eq__(self, other): return isinstance(other, Box) and self.n == other.n
            def __getattr__(self, name): return 'no ' + name
            def __del__(self): print('gone')
        class Sub(Box, tag='t'):
            __slots__ = ()
            def __init__(self): super().__init__(7)
            @property
            def p(self): return super().p + 1
        box = Box(3)
        box.p = 4
        print(box.p, box.n, box.other, Box.kind, Box[int], Sub.tag, Sub().p, box.shown(1), box.shown('x'), Box.c(), Box.s())
        try: box.slow
        except TypeError as error: print(error)
        del box.p
        print(box._n, vars(Sub).keys(), Box.__dict__['p'].fget.__name__, box == Box(1))
        """,
    "dataclasses, enums, named tuples, abstract classes": """
        @dataclasses.dataclass(order=True, slots=True)
        class Point:
            x: int
            y: int = dataclasses.field(default=2, compare=False)
            made: list = dataclasses.field(default_factory=lambda: [1])
            def __post_init__(self): self.x += 1
        @dataclasses.dataclass(frozen=True)
        class Frozen(abc.ABC):
            a: int
            @abc.abstractmethod
            def area(self): ...
        class Colour(enum.Enum):
            RED = 1
            BLUE = 2
            def __str__(self): return self.name.lower()
            @classmethod
            def _missing_(cls, value): return cls.RED
        class Pair(typing.NamedTuple):
            a: int
            b: str = 'b'
            def joined(self): return f'{self.a}{self.b}'
        print(Point(1), Point(1) < Point(2), dataclasses.asdict(Point(5)), inspect.signature(Point), Point.__match_args__)
        try: Frozen(1)
        except TypeError as error: print(error)
        print(Colour(9), list(Colour), Pair(1).joined(), Pair(2)._replace(b='c'), copy.deepcopy(Point(3)), copy.copy(Pair(1)))
        match Point(1, 5):
            case Point(2, y): print('matched', y)
        """,
    "pickles": """
        try:
            for thing in (top, Top.method, Top().method, Top, Top(), functools.partial(top, 1), top(2)):
                data = pickle.dumps(thing)
                print(len(data), type(pickle.loads(data)).__name__)
            pickle.dumps(lambda: 1)
        except Exception as error: print(type(error), str(error).split(' at ')[0])
        """,
    "warnings' levels": """
        def warn(level): warnings.warn(f'level {level}', stacklevel=level)
        def outer(level): warn(level)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter('always')
            for level in range(1, 5): outer(level)
        print([(str(w.message), w.filename.rpartition('/')[2], w.lineno) for w in seen])
        """,
    "generators to their end": """
        def numbers():
            try:
                got = yield 1
                print('got', got)
                yield 2
                return 'returned'
            except ValueError as error:
                print('caught', error)
                yield 'after'
            finally: print('finally')
        def delegating():
            result = yield from numbers()
            print('delegated', result)
            yield from (number for number in [8, 9])
        generator = delegating()
        print(next(generator), generator.send('x'), list(generator))
        generator = delegating(); next(generator)
        print(generator.throw(ValueError('v')), generator.gi_frame.f_lineno, generator.gi_yieldfrom is not None)
        print(inspect.getgeneratorstate(generator))
        generator.close()
        for wrong in (lambda: generator.send(5), lambda: next(generator), lambda: numbers().send(5)):
            try: print(wrong())
            except BaseException as error: print(type(error).__name__, error)
        def stubborn():
            while True:
                try: yield
                except GeneratorExit: pass
        left = stubborn(); next(left)
        try: left.close()
        except RuntimeError as error: print(error)
        def stops():
            raise StopIteration(1)
            yield
        try: next(stops())
        except RuntimeError as error: print(error, repr(error.__cause__))
        dropped = numbers(); next(dropped); del dropped
        gc.collect()
        cycle = []
        def in_cycle():
            try: yield cycle
            finally: print('collected')
        cycle.append(in_cycle()); next(cycle[0]); del cycle
        gc.collect()
        """,
    "coroutines and async generators": """
        class Slow:
            async def __aenter__(self): await asyncio.sleep(0); return self
            async def __aexit__(self, *error): await asyncio.sleep(0); return error[0] is KeyError
            def __await__(self): return (yield from asyncio.sleep(0, 'slept').__await__())
            def __aiter__(self): self.n = 0; return self
            async def __anext__(self):
                self.n += 1
                if self.n > 2: raise StopAsyncIteration
                return self.n
        async def ticks():
            try:
                for n in range(3): got = yield n; print('got', got)
            finally: await asyncio.sleep(0); print('ticks end')
        async def main():
            async with Slow() as slow: raise KeyError
            print(await slow, [n async for n in slow], [await asyncio.sleep(0, n) async for n in ticks()])
            agen = ticks()
            print(await agen.asend(None), await agen.asend(1))
            await agen.aclose()
            try: await agen.athrow(ValueError('late'))
            except (ValueError, StopAsyncIteration) as error: print(repr(error))
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fails(ValueError(1)))
                    group.create_task(fails(KeyError(2)))
            except* ValueError as errors: print('values', errors.exceptions)
            except* KeyError as errors: print('keys', errors.exceptions)
            job = asyncio.create_task(asyncio.sleep(9)); await asyncio.sleep(0); job.cancel('why')
            try: await job
            except asyncio.CancelledError as error: print('cancelled', error)
            unfinished = ticks(); await anext(unfinished)
        async def fails(error): await asyncio.sleep(0); raise error
        asyncio.run(main())
        coroutine = fails(1); print(inspect.getcoroutinestate(coroutine), coroutine.cr_code.co_name); coroutine.close()
        """,
    "exceptions, their groups and their tracebacks": """
        def chain():
            try: {}['missing']
            except KeyError as error: raise ValueError('outer') from error
        def context():
            try: 1 / 0
            finally: undefined
        def group(): raise ExceptionGroup('several', [ValueError(1), ExceptionGroup('inner', [TypeError(2), OSError(3)])])
        def noted():
            error = RuntimeError('with notes'); error.add_note('a note'); raise error
        def star():
            try: group()
            except* (ValueError, OSError) as found: print(repr(found)); raise
        def swallow():
            try: return chain()
            except ValueError: return 'swallowed'
            finally: print('at last')
        def override():
            try: raise KeyError
            finally: return 'overridden'
        def loop():
            for number in range(3):
                try:
                    if number: continue
                    break
                finally: print('each', number)
            else: print('else')
        print(swallow(), override(), loop())
        for failing in (chain, context, group, noted, star, lambda: [x.y for x in [1]], lambda: (lambda: int('x'))()):
            try: failing()
            except BaseException as error:
                traceback.print_exc(file=sys.stdout)
                print([frame.f_lineno for frame, _ in traceback.walk_tb(error.__traceback__)])
        """,
    "stacks and frames": """
        def inner(): return [frame.f_code.co_name + str(frame.f_lineno) for frame in frames()]
        def frames():
            frame = sys._getframe(1)
            while frame: yield frame; frame = frame.f_back
        def outer(): x = 5; return inner(), sorted(sys._getframe().f_locals), sys._getframe(1).f_lineno
        print(outer(), [entry.function for entry in inspect.stack(0)], traceback.extract_stack()[-1].line)
        def deep(n): return deep(n + 1) if n < 10_000 else n
        def depth():
            reached = 0
            def down():
                nonlocal reached
                reached += 1
                down()
            try: down()
            except RecursionError as error: print(error)
            return reached
        print(depth(), depth())
        for limit in (200, 501):
            sys.setrecursionlimit(limit)
            print(depth())
        sys.setrecursionlimit(1000)
        def through_c(n): return n if n == 0 else max([n - 1], key=through_c)
        class Odd:
            def __repr__(self): return repr([self])
            def __hash__(self): return hash((self,))
        for wrong in (lambda: deep(0), lambda: repr(Odd()), lambda: hash(Odd())):
            try: wrong()
            except RecursionError as error: print(str(error)[:32])
        def executed(n):
            global reached
            reached = n
            exec('executed(n + 1)', globals(), {'n': n})
        globals()['executed'] = executed
        try: executed(0)
        except RecursionError: print('executed to', reached)
        """,
    "eval, exec and code that is made": """
        space = {}
        exec('def made(n):\\n    return n + 1\\nprint(made(1), __name__ if "__name__" in dir() else "-")', space)
        cells = ['x = 1', 'def cell(): return x + 1', 'cell()', '1/0']
        import ast, code
        for number, text in enumerate(cells):
            tree = ast.parse(text)
            try:
                last = tree.body[-1]
                if isinstance(last, ast.Expr):
                    print(eval(compile(ast.Expression(last.value), f'<cell {number}>', 'eval'), space))
                else: exec(compile(tree, f'<cell {number}>', 'exec'), space)
            except ZeroDivisionError as error: traceback.print_exc(file=sys.stdout)
        shell = code.InteractiveInterpreter(space)
        print(shell.runsource('def f():\\n  return 5\\n\\n'), shell.runsource('f()'), shell.runsource('if x:'))
        print(eval('(lambda a: [a for _ in range(2)])(3)'), eval(compile('made(5)', 'none', 'eval'), space))
        changed = (lambda: 1).__code__.replace(co_name='other')
        print(types.FunctionType(changed, {})(), types.FunctionType(space['made'].__code__, {}, 'renamed')(4))
        """,
    "threads, weak references, copies": """
        def dies(): raise ValueError('in a thread')
        threading.excepthook = lambda args: print('hook', args.exc_type.__name__, args.exc_value, args.thread.name)
        worker = threading.Thread(target=dies, name='w'); worker.start(); worker.join()
        class Thing: pass
        thing = Thing()
        reference = weakref.ref(thing, lambda _: print('dead')); weakref.finalize(thing, print, 'finalized')
        del thing; gc.collect()
        print(reference())
        method = weakref.WeakMethod(holder.method)
        print(method()(), copy.copy(top) is top, sys.getrefcount(top.__code__) > 0, top.__code__ == top.__code__.replace())
        context = contextvars.copy_context()
        variable.set(2)
        print(context.run(lambda: variable.get('unset')), variable.get())
        print(threading.stack_size(), threading.active_count())
        """,
}

PROLOGUE = """
import abc, asyncio, contextvars, copy, dataclasses, enum, functools, gc, inspect, pickle, sys, threading, traceback
import types, typing, warnings, weakref
def top(x): return x
class Top:
    def method(self): return 'm'
holder = Top()
variable = contextvars.ContextVar('variable')
"""


def source() -> str:
    """Return one program with all cases, to save time; a heading separates them."""
    text = PROLOGUE
    for number, (name, body) in enumerate(WITHIN.items()):
        text += f"print({f'== {name}'!r})\ndef part_{number}():\n"
        text += textwrap.indent(textwrap.dedent(body), "    ") + f"\npart_{number}()\n"
    return text


def sections(output: str) -> dict[str, str]:
    return dict(part.split("\n", 1) for part in same_in_every_run(output).split("== ")[1:])


@pytest.mark.parametrize("recorder", ["c"])
def test_program_output_and_exit_equal_plain_run(record, recorder):
    plain = record(source(), environment=PLAIN)
    recorded = record(source())
    assert plain.code == 0, plain.stderr
    expected, found = sections(plain.stdout), sections(recorded.stdout)
    assert list(expected) == list(WITHIN)
    for name, text in expected.items():
        assert found.get(name) == text, name
    assert (recorded.code, same_in_every_run(recorded.stderr)) == (plain.code, same_in_every_run(plain.stderr))
    called = {placed.site.qualname for placed in recorded.of(Kind.ENTER)}
    assert {f"part_{number}" for number in range(len(WITHIN))} <= called
