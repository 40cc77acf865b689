"""What every test may rely on."""

import signal

# A shell starts what it runs in the background with SIGINT ignored, and children inherit that: without this, tests of Ctrl-C
# would wait for ever there.
signal.signal(signal.SIGINT, signal.default_int_handler)
