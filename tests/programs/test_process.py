"""Effects of a rank on its process, as far as a real MPI shows them otherwise, or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_programs import ENVIRONMENT, HERE, compiled, hopcast, pytestmark  # noqa: F401

PROGRAM = """
#include "check.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static void *nothing(void *argument) { return argument; }
static void whole_lines(void) {
    fprintf(stderr, "to err");
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "or %d\\n", rank);
    write(1, "in ", 3);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("one line %d\\n", rank);
    printf("no end %d", rank);
    fflush(stdout);
}
static void input(void) {
    char line[100] = "nothing";
    errno = 0;
    int read = scanf("%99s", line);
    if (errno) printf("an error of %d\\n", errno);
    printf("rank %d reads %d %s\\n", rank, read, line);
}
static void clocks(void) {
    struct timespec pause = {1, 500000000};
    struct timeval now;
    sleep(2);
    nanosleep(&pause, NULL);
    gettimeofday(&now, NULL);
    time_t seconds = time(NULL);
    struct tm *date = gmtime(&seconds);
    printf("%ld.%06ld %d-%d %.3f %.3f\\n", (long)now.tv_sec, (long)now.tv_usec, date->tm_year + 1900,
           date->tm_yday, MPI_Wtime(), (double)clock() / CLOCKS_PER_SEC);
}
static void refused(void) {
    pthread_t thread;
    int code = pthread_create(&thread, NULL, nothing, NULL), child = fork();
    printf("%d %d %d\\n", code == EAGAIN, child == -1, errno == ENOSYS);
}
/* Each send keeps rank 0 busy for 10 us, in which rank 2 prints. */
static void until(double us) {
    struct timespec pause = {0, (long)(1e3 * us - 1e9 * MPI_Wtime())};
    nanosleep(&pause, NULL);
}
static void sends(void) {
    MPI_Request requests[2];
    until(1000);
    if (rank == 0) {
        MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        printf("sent\\n");
        printf("at %.1f us\\n", 1e6 * MPI_Wtime());
        for (int i = 0; i < 2; i++)
            MPI_Isend(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &requests[i]);
        printf("sent twice\\n");
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        printf("at %.1f us\\n", 1e6 * MPI_Wtime());
    }
    for (int i = 0; rank == 1 && i < 3; i++)
        MPI_Recv(&size, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 2 && i < 3; i++) {
        until(1005 + 10 * i);
        printf("%d us\\n", 5 + 10 * i);
    }
}
static void files(void) {
    char name[32];
    snprintf(name, sizeof name, "out.%d", rank);
    if (!freopen(name, "w", stdout)) exit(9);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("rank %d\\n", rank);
}
/* What is printed is ahead of the sends, and what others write comes after it. */
static void commands(void) {
    for (int i = 0; rank == 1 && i < 4; i++)
        MPI_Recv(&size, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; rank == 0 && i < 4; i++) {
        MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        printf("print %d\\n", i);
        if (i == 0 && system("echo system")) abort();
        if (i == 1) dprintf(1, "%d %s %d %d %d %d %.1f\\n", 1, "two", 3, 4, 5, 6, 7.5);
        if (i == 2) {
            FILE *pipe = popen("cat", "w");
            fputs("popen\\n", pipe);
            pclose(pipe);
        }
    }
}
static void question(void) {
    int number = 0;
    if (rank == 1) MPI_Recv(&size, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) return;
    MPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    printf("a number?\\n");
    if (scanf("%d", &number) == 1) printf("it is %d\\n", number);
}
int main(int argc, char **argv) {
    begin(&argc, &argv);
    switch (argv[1][0]) {
    case 'o': commands(); break;
    case 'q': question(); break;
    case 'b': printf("%02x %02x\\n", argv[2][0] & 255, argv[2][1] & 255); break;
    case 'l': whole_lines(); break;
    case 'i': input(); break;
    case 'c': clocks(); break;
    case 'r': refused(); break;
    case 'f': files(); break;
    case 's': sends(); break;
    case 't': if (rank == 1) raise(SIGTERM);
    }
    MPI_Finalize();
    return 0;
}
"""

SLOW_SENDERS = """
name = "slow senders"
topology = { kind = "crossbar", hosts = 3 }
host = { processes = 1, memory = { latency = "0 ns", bandwidth = "10 GB/s" } }
nic = { bandwidth = "10 GB/s", latency = "1 us" }
compute = { flop_rate = "1 Gflop/s" }
[[mpi.regimes]]
name = "all"
send_overhead = "10 us"
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    source = tmp_path_factory.mktemp("process") / "process.c"
    source.write_text(PROGRAM.replace('"check.h"', f'"{HERE / "check.h"}"'))
    return compiled(source, source.parent)


def run(
    program: Path, ranks: int, *words: str, platform="hopper", given: str = "", folder: Path | None = None
):
    command = [sys.executable, "-m", "hopcast", "run", platform, "-n", str(ranks)]
    command += ["--quiet", "--compute", "none", program, *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=ENVIRONMENT, timeout=100, input=given, cwd=folder
    )


def test_both_streams_are_whole_lines_and_the_last_may_lack_its_end(program) -> None:
    done = run(program, 3, "l")
    assert sorted(done.stderr.splitlines()) == [f"to error {rank}" for rank in range(3)]
    printed, _, last = done.stdout.rstrip("\n").rpartition("\n")
    assert "outcome" in last and "no end" not in last, done.stdout
    for rank in range(3):
        assert f"in one line {rank}\n" in printed
        assert f"no end {rank}" in printed


def test_standard_input_is_that_of_rank_0(program) -> None:
    done = run(program, 3, "i", given="word\nanother\n")
    assert sorted(done.stdout.splitlines()[:3]) == [
        "rank 0 reads 1 word",
        "rank 1 reads -1 nothing",
        "rank 2 reads -1 nothing",
    ]


def test_a_question_is_there_before_its_answer(program) -> None:
    command = [sys.executable, "-m", "hopcast", "run", "hopper", "-n", "2", "--quiet", "--compute", "none"]
    command += [program, "q"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=ENVIRONMENT, text=True, **pipes) as process:
        assert process.stdout.readline() == "a number?\n"
        assert process.communicate("42\n", timeout=60)[0].startswith("it is 42\n")


def test_what_commands_write_comes_after_what_was_printed_before(program) -> None:
    lines = run(program, 2, "o").stdout.splitlines()[:7]
    assert lines[:4] == ["print 0", "system", "print 1", "1 two 3 4 5 6 7.5"]
    assert lines[4:] == ["print 2", "popen", "print 3"]


def test_a_command_line_is_bytes(program) -> None:
    assert run(program, 1, "b", "a\udcfe").stdout.splitlines()[0] == "61 fe"


def test_clocks_count_simulated_time_from_a_date_that_is_always_the_same(program) -> None:
    done = run(program, 1, "c")
    # 2026-01-01 00:00 UTC and 3.5 s of sleep.
    assert done.stdout.splitlines()[0] == "1767225603.500000 2026-0 3.500 3.500"


def test_what_one_process_cannot_do_for_a_rank_is_refused_and_named(program) -> None:
    done = run(program, 2, "r")
    assert done.stdout.splitlines()[:2] == ["1 1 1"] * 2
    assert "rank 0: fork: all ranks share one process" in done.stderr
    assert done.stderr.count("pthread_create: ") == 1


def test_what_ranks_print_beside_their_sends_is_in_the_order_of_simulated_time(program, tmp_path) -> None:
    """A rank that has sent is not told of it; what it prints is not printed before the send is over."""
    platform = tmp_path / "slow.toml"
    platform.write_text(SLOW_SENDERS)
    done = run(program, 3, "s", platform=platform)
    expected = ["5 us", "sent", "at 1010.0 us", "15 us", "25 us", "sent twice", "at 1030.0 us"]
    assert done.stdout.splitlines()[:7] == expected


PRINTS = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int at = 0; at < 20; at++) {
        if (rank == 0) {
            MPI_Send(&at, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            printf("sent %d\\n", at);
        } else {
            MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("got %d\\n", got);
        }
        if (rank == 1 && at == 5 && argc > 1) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Finalize();
    return 0;
}
"""


@pytest.mark.parametrize("flags", [(), ("--stop-at", "60 us"), ("abort",)])
def test_nothing_is_printed_that_has_not_happened(flags, tmp_path) -> None:
    """Ranks that are processes never go ahead of their sends: they print the same, in the same order."""
    (tmp_path / "slow.toml").write_text(SLOW_SENDERS)
    (tmp_path / "prints.c").write_text(PRINTS)
    program = tmp_path / "prints"
    assert hopcast("cc", tmp_path / "prints.c", "-o", program).returncode == 0
    told = [word for word in flags if word == "abort"]
    asked = [word for word in flags if word != "abort"]
    said = []
    for isolation in ("globals", "process"):
        words = ["run", tmp_path / "slow.toml", "-n", "2", "--quiet", "--isolation", isolation, *asked]
        lines = hopcast(*words, program, *told).stdout.splitlines()
        said.append([line for line in lines if line.startswith(("sent", "got"))])
    assert said[0] == said[1]
    assert said[0].index("sent 3") < said[0].index("got 4")
    assert len(said[0]) < 40 or not flags


def test_a_rank_may_print_into_a_file_of_its_own(program, tmp_path) -> None:
    done = run(program, 3, "f", folder=tmp_path)
    assert done.returncode == 0
    assert [(tmp_path / f"out.{rank}").read_text() for rank in range(3)] == [
        f"rank {rank}\n" for rank in range(3)
    ]


def test_a_signal_that_a_rank_sends_to_itself_ends_it(program) -> None:
    done = hopcast("run", "hopper", "-n", "2", "--json", program, "t")
    failure = json.loads(done.stdout)["failure"]
    assert done.returncode == 3
    assert failure["kind"] == "crash"
    assert "rank 1 was ended by SIGTERM (raised by itself)" in failure["text"]


FORTRAN = """
program prints
  use mpi_f08
  implicit none
  integer :: rank, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  print '(a, i0)', 'rank ', rank
  call MPI_Barrier(MPI_COMM_WORLD)
  if (command_argument_count() == 0) call MPI_Abort(MPI_COMM_WORLD, 3)
  call MPI_Recv(i, 1, MPI_INTEGER, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
end program
"""


def test_what_fortran_has_printed_is_there_however_it_ends(tmp_path) -> None:
    """Its library holds back what goes into a file: both ranks' only line."""
    source = tmp_path / "prints.f90"
    source.write_text(FORTRAN)
    program = compiled(source, tmp_path)
    for words in ((), ("stand",)):
        with (tmp_path / "printed").open("w+") as printed:
            line = "-m hopcast run hopper -n 2 --quiet --compute none"
            command = [sys.executable, *line.split(), program, *words]
            subprocess.run(command, stdout=printed, check=False, env=ENVIRONMENT, timeout=300)
            printed.seek(0)
            assert {"rank 0\n", "rank 1\n"} <= set(printed)


STACK = """
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    stack_t own = {.ss_sp = malloc(65536), .ss_size = 65536}, none = {.ss_flags = SS_DISABLE}, seen;
    MPI_Init(&argc, &argv);
    int at_first = !sigaltstack(&own, &seen) && seen.ss_flags == SS_DISABLE;
    MPI_Barrier(MPI_COMM_WORLD);
    int named = !sigaltstack(&none, &seen) && seen.ss_sp == own.ss_sp && seen.ss_size == 65536;
    int at_last = !sigaltstack(NULL, &seen) && seen.ss_flags == SS_DISABLE;
    own.ss_size = 1;
    printf("%d %d %d %d\\n", at_first, named, at_last, sigaltstack(&own, NULL) == -1);
    MPI_Finalize();
}
"""


def test_a_rank_has_the_stack_for_handlers_that_it_has_named(tmp_path) -> None:
    source = tmp_path / "stack.c"
    source.write_text(STACK)
    done = hopcast("run", "hopper", "-n", "2", "--quiet", compiled(source, tmp_path))
    assert done.stdout.splitlines()[:2] == ["1 1 1 1"] * 2, done.stderr


@pytest.mark.parametrize("isolation", ["globals", "process"])
def test_a_profile_of_the_simulator_has_the_program_s_ranks(isolation, tmp_path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW_SENDERS)
    (tmp_path / "prints.c").write_text(PRINTS)
    program = tmp_path / "prints"
    assert hopcast("cc", tmp_path / "prints.c", "-o", program).returncode == 0
    words = ["run", tmp_path / "slow.toml", "-n", "2", "--isolation", isolation, "--json"]
    told = [json.loads(hopcast(*words, *flags, program).stdout) for flags in ([], ["--profile-simulator"])]
    assert told[0]["outcome_hash"] == told[1]["outcome_hash"]
    profile = told[1]["profile_simulator"]
    phases = {cost["phase"] for cost in profile["layers"]}
    # The simulation itself takes about a millisecond, the time between two samples.
    assert {"Python", "set-up", "report"} <= phases
    starts = [
        cost for cost in profile["layers"] if cost["layer"] == "start and load of the program, its result"
    ]
    assert len(starts) == 1 and starts[0]["time_s"] > 0
