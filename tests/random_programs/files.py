"""Phases of files that the ranks of a communicator share."""

from __future__ import annotations

from .model import Phase, World


def shared_file(world: World) -> Phase:
    """A file that is written and read in some of the ways of MPI-IO."""
    random = world.random
    comm = world.any_communicator()
    count, key, size = random.randint(1, 2_000), world.key(), comm.size
    name = world.name("file")
    head = (
        f"if (place({comm.number}) >= 0) {{",
        f"int at = place({comm.number}); MPI_File file; MPI_Status s; char path[4200];",
        f'snprintf(path, sizeof path, "%s/{name}", folder);',
        f"MPI_File_open({comm}, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, "
        "&file);",
        f"int *out = numbers({count}, {key} + at), *in = numbers({count * size}, 8);",
    )
    writes = {
        "write_at": f"MPI_File_write_at(file, (MPI_Offset)sizeof(int) * {count} * at, out, {count}, MPI_INT, &s);",
        "write_at_all": f"MPI_File_write_at_all(file, (MPI_Offset)sizeof(int) * {count} * at, out, {count}, MPI_INT, "
        "&s);",
        "iwrite_at": f"MPI_Request r; MPI_File_iwrite_at(file, (MPI_Offset)sizeof(int) * {count} * at, out, {count}, "
        "MPI_INT, &r); MPI_Wait(&r, &s);",
        "ordered": f"MPI_File_seek_shared(file, 0, MPI_SEEK_SET); MPI_File_write_ordered(file, out, {count}, MPI_INT, "
        "&s);",
        "view": f"MPI_Datatype t; MPI_Type_vector({count}, 1, {size}, MPI_INT, &t); MPI_Type_commit(&t); "
        'MPI_File_set_view(file, (MPI_Offset)sizeof(int) * at, MPI_INT, t, "native", MPI_INFO_NULL); '
        f"MPI_File_write_all(file, out, {count}, MPI_INT, &s); "
        'MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL); MPI_Type_free(&t);',
        "split": f"MPI_File_write_at_all_begin(file, (MPI_Offset)sizeof(int) * {count} * at, out, {count}, MPI_INT); "
        "MPI_File_write_at_all_end(file, out, &s);",
    }
    told = f'note("read", mixed(count_of(&s, MPI_INT), (int64_t)digest(in, sizeof(int) * {count * size})));'
    read = f"MPI_File_read_at_all(file, 0, in, {count * size}, MPI_INT, &s); {told}"
    parts = []
    for kind in random.sample(sorted(writes), random.randint(1, 3)):
        parts.append(
            ("{", f"  {writes[kind]}", f'  note("{kind}", count_of(&s, MPI_INT));', "}")
            + (
                f"MPI_File_sync(file); MPI_Barrier({comm}); MPI_File_sync(file);",
                read,
                f"MPI_Barrier({comm});",
            )
        )
    tail = (
        'MPI_Offset bytes; MPI_File_get_size(file, &bytes); note("bytes", (uint64_t)bytes);',
        "MPI_File_close(&file);",
        "}",
    )
    return Phase(f"file of {comm.number}", head, tail, tuple(parts), frozenset({comm.number}))
