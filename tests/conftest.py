"""Signals of all tests: programs that they start can be interrupted, however the tests were started."""

from __future__ import annotations

import signal

# A shell that starts tests in the background lets them ignore Ctrl-C, and whatever they start inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
