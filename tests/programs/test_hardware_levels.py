"""Parts of the machine that a program may split a communicator by: hosts, and sockets and levels by name."""

from __future__ import annotations

from pathlib import Path

from test_programs import compiled, pytestmark, run

__all__ = ["pytestmark"]

SOURCE = r"""
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void split(int kind, MPI_Comm old, MPI_Info info, MPI_Comm *part, char *said) {
    int size = 0, rank = 0, found = 0;
    char name[64] = "-";
    MPI_Comm_split_type(old, kind, 0, info, part);
    if (*part != MPI_COMM_NULL) {
        MPI_Comm_size(*part, &size);
        MPI_Comm_rank(*part, &rank);
        MPI_Info_get(info, "mpi_hw_resource_type", 63, name, &found);
    }
    sprintf(said + strlen(said), " %s %d/%d", name, rank, size);
}

int main(int argc, char **argv) {
    int rank, known = 0;
    char said[512] = "", value[8];
    MPI_Comm host, socket, none, guided;
    MPI_Info told, wanted, hardware;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Info_create(&told);
    split(MPI_COMM_TYPE_HW_UNGUIDED, MPI_COMM_WORLD, told, &host, said);
    split(MPI_COMM_TYPE_HW_UNGUIDED, host, told, &socket, said);
    if (socket != MPI_COMM_NULL)
        split(MPI_COMM_TYPE_HW_UNGUIDED, socket, told, &none, said);
    MPI_Info_create(&wanted);
    MPI_Info_set(wanted, "mpi_hw_resource_type", "hopcast://socket");
    split(MPI_COMM_TYPE_HW_GUIDED, MPI_COMM_WORLD, wanted, &guided, said);
    MPI_Get_hw_resource_info(&hardware);
    MPI_Info_get(hardware, "hopcast://socket", 7, value, &known);
    printf("%d:%s %d\n", rank, said, known);
    MPI_Finalize();
    return argc - 1;
}
"""


def printed(tmp_path: Path, *flags: str) -> list[str]:
    source = tmp_path / "levels.c"
    source.write_text(SOURCE)
    program = compiled(source, tmp_path)
    report, said, _ = run(program, 16, flags=("--set", "host.processes=8", *flags))
    assert report["failure"] is None
    return sorted(said.splitlines(), key=lambda line: int(line.partition(":")[0]))


def test_hosts_are_split_by_sockets_and_sockets_by_nothing(tmp_path) -> None:
    lines = printed(tmp_path, "--set", "host.sockets=2")
    # Two hosts of eight ranks, dealt to two sockets in turns: four on each.
    expected = [
        f"{rank}: hopcast://host {rank % 8}/8 hopcast://socket {rank % 8 // 2}/4 - 0/0 "
        f"hopcast://socket {rank % 8 // 2}/4 1"
        for rank in range(16)
    ]
    assert lines == expected


def test_a_host_of_one_socket_has_no_smaller_part(tmp_path) -> None:
    expected = [f"{rank}: hopcast://host {rank % 8}/8 - 0/0 - 0/0 0" for rank in range(16)]
    assert printed(tmp_path) == expected


LEVELS = """[
    { name = "cache", processes = 2, latency = "100 ns", bandwidth = "20 GB/s" },
    { name = "socket", processes = 4, latency = "200 ns", bandwidth = "10 GB/s" },
]"""


def test_levels_of_a_platform_are_parts_from_the_outermost_inwards(tmp_path) -> None:
    """The source splits thrice: host, socket, cache.

    Slots are dealt to the sockets in turns: 0, 2, 4 and 6 are on the first, and 0 and 2 have a cache.
    """
    lines = printed(tmp_path, "--set", "host.sockets=2", "--set", f"host.levels={LEVELS}")
    expected = [
        f"{rank}: hopcast://host {rank % 8}/8 hopcast://socket {rank % 8 // 2}/4 "
        f"hopcast://cache {rank % 4 // 2}/2 hopcast://socket {rank % 8 // 2}/4 1"
        for rank in range(16)
    ]
    assert lines == expected


def test_a_level_without_sockets_is_a_part_by_its_name(tmp_path) -> None:
    levels = '[{ name = "numa", processes = 2, latency = "100 ns", bandwidth = "20 GB/s" }]'
    # No program asks for it by name here, and there is no socket.
    expected = [
        f"{rank}: hopcast://host {rank % 8}/8 hopcast://numa {rank % 2}/2 - 0/0 - 0/0 0" for rank in range(16)
    ]
    assert printed(tmp_path, "--set", f"host.levels={levels}") == expected
