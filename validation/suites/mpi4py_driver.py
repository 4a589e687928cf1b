"""Runs modules of mpi4py's test suite on every rank, and prints a line for each test of each rank.

usage: mpi4py_driver.py FOLDER MODULE[,MODULE …] [TEST-TO-LEAVE-OUT …]
"""

import os
import sys
import unittest

folder, name, *left_out = sys.argv[1:]
sys.path.insert(0, folder)
os.environ["MPI4PY_TEST_SPAWN"] = "no"

from mpi4py import MPI  # noqa: E402

RANK = MPI.COMM_WORLD.rank


def say(test: str, what: str) -> None:
    """One line, whole."""
    os.write(1, f"\nresult {RANK} {what} {test}\n".encode())


class Result(unittest.TestResult):
    """Says what becomes of each test when it is known."""

    def startTest(self, test):
        super().startTest(test)
        say(test.id(), "begun")

    def addSuccess(self, test):
        say(test.id(), "passed")

    def addSkip(self, test, reason):
        say(test.id(), "skipped")

    def addError(self, test, err):
        say(test.id(), f"failed:{self.reason(err)}")

    def addFailure(self, test, err):
        self.addError(test, err)

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(test, err)

    @staticmethod
    def reason(err) -> str:
        """An exception in a word without spaces."""
        return f"{err[0].__name__}:{err[1]}".splitlines()[0].replace(" ", "_")[:160]


def tests_of(suite):
    """The tests of a suite and of those in it."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_of(entry)
        elif entry.id() not in left_out:
            yield entry


unittest.TestSuite(tests_of(unittest.defaultTestLoader.loadTestsFromNames(name.split(",")))).run(Result())
say("all", "end")
