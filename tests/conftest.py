"""What every test shares."""

import os
import signal

import hypothesis

# One thread for each process, before torch is imported: threads that wait for one another do so at full speed, and on a
# busy machine for minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Machines are shared and noisy: no example is judged by the time it takes.
hypothesis.settings.register_profile("busy machine", deadline=None)
hypothesis.settings.load_profile("busy machine")

# Tests in the background of a shell ignore Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
