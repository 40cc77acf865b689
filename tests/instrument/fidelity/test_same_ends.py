"""For every way in which a program ends, output and exit code are the same recorded as plain, byte for byte."""

from __future__ import annotations

import textwrap

import pytest

from clew.records.format.event import Kind
from tests.support.programs.same_output import PLAIN, same_in_every_run

ENDS = {
    "sys.exit in a function": r"""
        import sys
        def f():
            try: sys.exit(3)
            finally: print('left')
        f()
        """,
    "sys.exit with a text in a thread": r"""
        import sys, threading
        def f(): sys.exit('no')
        t = threading.Thread(target=f); t.start(); t.join(); print('on')
        """,
    "an error nobody catches": r"""
        def f(n):
            return g(n,
                n / 0)
        def g(*a): pass
        f(1)
        """,
    "an error in a thread": r"""
        import threading
        def f(): {}['x']
        t = threading.Thread(target=f); t.start(); t.join(); print('on')
        """,
    "an error at exit": r"""
        import atexit
        @atexit.register
        def f(): raise ValueError('late')
        print('end')
        """,
    "an error in __del__": r"""
        class C:
            def __del__(self): 1 / 0
        def f(): C()
        f()
        print('on')
        """,
    "an interrupt": r"""
        import os, signal
        def f(): os.kill(os.getpid(), signal.SIGINT); [x for x in range(10**7)]
        f()
        """,
    "a signal's handler that raises": r"""
        import os, signal
        class E(Exception): pass
        def h(*a): raise E('h')
        signal.signal(signal.SIGUSR1, h)
        def f():
            try: os.kill(os.getpid(), signal.SIGUSR1); [x for x in range(10**5)]
            except E as e: print(e)
        f()
        """,
    "abort": r"""
        import os
        def f(): print('x', flush=True); os.abort()
        f()
        """,
    "os._exit in a function": r"""
        import os
        def f():
            try: print('x', flush=True); os._exit(4)
            finally: print('never')
        f()
        """,
    "os._exit in a thread": r"""
        import os, threading, time
        def f(): os._exit(5)
        threading.Thread(target=f).start()
        time.sleep(30)
        """,
    "a fork's child that raises": r"""
        import os
        def f():
            if os.fork() == 0: raise ValueError('child')
            print(os.wait()[1])
        f()
        """,
    "exec in the middle": r"""
        import os, sys
        def f(): print('one', flush=True); os.execv(sys.executable, [sys.executable, '-c', 'def g(): print(2)\ng()'])
        f()
        """,
    "endless recursion": r"""
        def f(n): return f(n + 1)
        f(0)
        """,
    "a group": r"""
        def f(): raise ExceptionGroup('g', [ValueError(1), KeyError(2)])
        f()
        """,
    "a syntax error at run time": r"""
        def f(): exec('1 +')
        f()
        """,
    "a coroutine nobody awaits": r"""
        async def f(): pass
        def g(): f()
        g()
        print('on')
        """,
    "an excepthook": r"""
        import sys
        def hook(kind, error, tb): print(kind.__name__, error, tb.tb_lineno, tb.tb_next.tb_lineno)
        sys.excepthook = hook
        def f():
            1 / 0
        f()
        """,
    "a module run twice": r"""
        import runpy, sys
        def f(): return __name__
        print(f())
        if __name__ == '__main__': runpy.run_path('program.py', run_name='again')
        """,
    "standard output closed": r"""
        import sys
        def f(): sys.stdout.close()
        f()
        def g(): print('x')
        g()
        """,
    "the last threads": r"""
        import threading
        def f(): threading.main_thread().join(); print('late')
        threading.Thread(target=f).start()
        print('main ends')
        """,
    "module teardown": r"""
        class C:
            def __del__(self): print('teardown', C is None)
        c = C()
        def f(): yield c
        g = f(); next(g)
        """,
}


@pytest.mark.parametrize("name", ENDS)
def test_program_end_equals_plain_run(record, name):
    plain, recorded = (record(textwrap.dedent(ENDS[name]), environment=environment) for environment in (PLAIN, {}))
    assert recorded.code == plain.code
    assert same_in_every_run(recorded.stdout) == same_in_every_run(plain.stdout)
    assert same_in_every_run(recorded.stderr) == same_in_every_run(plain.stderr)
    assert recorded.of(Kind.ENTER), "the program's functions are recorded"
