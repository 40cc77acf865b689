"""What every test may rely on."""

import signal

from hypothesis import HealthCheck, settings

# A shell starts what it runs in the background with SIGINT ignored, and children inherit that: without this, tests of Ctrl-C
# would wait for ever there.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("clew", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clew")
