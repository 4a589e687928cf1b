"""Removes network namespaces and a folder when standard input ends: their maker is done, or was killed.

    cleaner.py FOLDER NAME… < PIPE

A process of its own, in a session of its own: nothing that ends its parent ends it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

GRACE_S = 0.5
AGAIN_S = 0.1
"""Until the next look: a command that its dead parent had started may still make a namespace."""


def main() -> None:
    """Waits, and cleans up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    folder, *names = sys.argv[1:]
    while sum(_remove(name) for name in names):
        time.sleep(AGAIN_S)
    shutil.rmtree(folder, ignore_errors=True)


def _remove(name: str) -> bool:
    """Ends the processes of a namespace, and removes it; true if it was there."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        found = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
        for pid in found.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), number)
        if found.stdout.split() and number == signal.SIGTERM:
            time.sleep(GRACE_S)
    done = subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    main()
