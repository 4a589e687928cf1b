"""Phases of messages between pairs of ranks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from .model import BASES, Communicator, Datatype, Phase, World

WAYS = ("WAIT", "WAITALL", "WAITANY", "WAITSOME", "TEST", "TESTALL", "TESTANY", "TESTSOME", "GET_STATUS")
BLOCKING = ("Send", "Ssend", "Bsend")
STARTED = ("Isend", "Issend", "Ibsend", "Irsend")
PERSISTENT = ("Send_init", "Ssend_init", "Bsend_init", "Rsend_init")


@dataclass(frozen=True)
class Message:
    """A message within a communicator, by the ranks there, with what its two ends call it."""

    source: int
    dest: int
    tag: int
    sent: Datatype
    count: int
    received: Datatype
    room: int
    key: int

    def send_buffer(self, name: str) -> str:
        """The statement that makes the sender's buffer."""
        return f"void *{name} = buffer({self.sent.extent * self.count}, {self.key});"

    def receive_bytes(self) -> int:
        """Size of the receiver's buffer [B]."""
        return self.received.extent * self.room


def _message(world: World, source: int, dest: int) -> Message:
    random = world.random
    base = random.choice(list(BASES))
    plain = random.random() < 0.5
    sent = world.datatype(base, 0 if plain else 2)
    received = world.datatype(base, 0 if plain else 2)
    count = random.choice((0, 1, 2, 7, 30, 300, 20_000 if plain else 40))
    elements = count * sent.elements
    room = -(-elements // received.elements) + random.randrange(3)
    return Message(source, dest, random.randrange(4), sent, count, received, room, world.key())


def _pairs(world: World, comm: Communicator, count: int) -> list[tuple[int, int]]:
    places = range(comm.size)
    return [(world.random.choice(places), world.random.choice(places)) for _ in range(count)]


def _at(comm: Communicator, place: int, lines: list[str]) -> list[str]:
    return [f"if (place({comm.number}) == {place}) {{", *(f"  {line}" for line in lines), "}"]


def _note(buffer: str, bytes_: int, status: str, datatype: str) -> str:
    return f'note("received", mixed(of_status(&{status}, {datatype}), (int64_t)digest({buffer}, {bytes_})));'


def _attach(world: World) -> tuple[list[str], list[str]]:
    """Room for buffered sends, and its end."""
    name = world.name("attached")
    room = "8 << 20"
    return (
        [f"void *{name} = malloc({room}); MPI_Buffer_attach({name}, {room});"],
        [f"MPI_Buffer_detach(&{name}, &(int){{0}}); free({name});"],
    )


def _code_of(*types: Datatype) -> list[str]:
    return [line for datatype in types for line in datatype.code]


def _free(*types: Datatype) -> list[str]:
    return [f"MPI_Type_free(&{datatype.name});" for datatype in types if not datatype.is_basic]


def blocking(world: World) -> Phase:
    """Messages one after the other, sent and received in blocking calls: deadlock-free by their order."""
    comm = world.any_communicator(2)
    begin, end = _attach(world)
    parts = []
    for source, dest in _pairs(world, comm, world.random.randint(1, 8)):
        if source != dest:
            parts.append(tuple(_blocking_message(world, comm, _message(world, source, dest))))
    return Phase(
        f"blocking messages in {comm.number}",
        tuple(begin),
        tuple(end),
        tuple(parts),
        frozenset({comm.number}),
    )


def _blocking_message(world: World, comm: Communicator, one: Message) -> list[str]:
    random = world.random
    send = random.choice(BLOCKING)
    lines = [
        *_code_of(one.sent),
        one.send_buffer("out"),
        f"MPI_{send}(out, {one.count}, {one.sent.name}, {one.dest}, {one.tag}, {comm});",
        *_free(one.sent),
    ]
    receive = [
        *_code_of(one.received),
        f"void *in = buffer({one.receive_bytes()}, 3); MPI_Status s, p;",
        *_receive(random.choice(("Recv", "Probe", "Iprobe", "Mprobe", "Improbe")), comm, one),
        _note("in", one.receive_bytes(), "s", one.received.name),
        *_free(one.received),
    ]
    return [*_at(comm, one.source, lines), *_at(comm, one.dest, receive)]


def _receive(how: str, comm: Communicator, one: Message) -> list[str]:
    where = f"{one.source}, {one.tag}, {comm}"
    into = f"in, {one.room}, {one.received.name}"
    told = f'note("probed", count_of(&p, {one.sent.base}));'
    if how == "Probe":
        return [f"MPI_Probe({where}, &p); {told}", f"MPI_Recv({into}, {where}, &s);"]
    if how == "Iprobe":
        poll = f"for (int flag = 0; !flag;) MPI_Iprobe({where}, &flag, &p); {told}"
        return [poll, f"MPI_Recv({into}, {where}, &s);"]
    if how == "Mprobe":
        return [f"MPI_Message m; MPI_Mprobe({where}, &m, &p); {told}", f"MPI_Mrecv({into}, &m, &s);"]
    if how == "Improbe":
        poll = f"MPI_Message m; for (int flag = 0; !flag;) MPI_Improbe({where}, &flag, &m, &p); {told}"
        return [poll, f"MPI_Request r; MPI_Imrecv({into}, &m, &r); MPI_Wait(&r, &s);"]
    return [f"MPI_Recv({into}, {where}, &s);"]


def nonblocking(world: World) -> Phase:
    """Receives that are posted first, sends of all kinds, and a completion in one of nine ways."""
    random = world.random
    comm = world.any_communicator()
    begin, end = _attach(world)
    wild = {place: random.choice(("exact", "source", "tag", "both")) for place in range(comm.size)}
    messages = [
        _nonblocking_message(world, wild[dest], source, dest)
        for source, dest in _pairs(world, comm, random.randint(1, 14))
    ]
    # What a wildcard may match has room for the largest, of one type.
    messages = _with_equal_room(messages, wild)
    how = random.choice(WAYS)
    types = _declared(messages)
    head = [
        *begin,
        *(line for datatype in types for line in datatype.code),
        f"MPI_Request rr[{len(messages) + 1}], sr[{len(messages) + 1}]; int posted = 0, sent = 0;",
        f"MPI_Status rs[{len(messages) + 1}], ss[{len(messages) + 1}];",
        f"void *in[{len(messages) + 1}]; size_t bytes[{len(messages) + 1}]; uint64_t sum = 0;",
        f"MPI_Datatype of[{len(messages) + 1}]; int persistent[{2 * len(messages) + 2}];",
    ]
    ready = f"if (place({comm.number}) >= 0) MPI_Barrier({comm});"
    receives = [line for one in messages for line in _post(world, comm, one, wild[one.dest])]
    sends = [line for one in messages for line in _start(world, comm, one)]
    tail = [
        f"complete({how}, posted, rr, rs);",
        f"complete({random.choice(WAYS)}, sent, sr, ss);",
        "for (int i = 0; i < posted; i++) {",
        "  uint64_t one = mixed(of_status(&rs[i], of[i]), (int64_t)digest(in[i], bytes[i]));",
        "  sum += one;",
        "  if (rr[i] != MPI_REQUEST_NULL) MPI_Request_free(&rr[i]);",
        "}",
        "for (int i = 0; i < sent; i++) if (sr[i] != MPI_REQUEST_NULL) MPI_Request_free(&sr[i]);",
        'note("received", sum);',
        *(f"MPI_Type_free(&{datatype.name});" for datatype in types if not datatype.is_basic),
        *end,
        ready,  # before what follows, which a wildcard would take
    ]
    parts = ((*receives, ready, *sends),)
    title = f"nonblocking messages in {comm.number}, {how}"
    return Phase(title, tuple(head), tuple(tail), parts, frozenset({comm.number}))


def _nonblocking_message(world: World, wild: str, source: int, dest: int) -> Message:
    one = _message(world, source, dest)
    if wild in ("source", "both"):
        plain = Datatype((), one.sent.base, 1, BASES[one.sent.base], one.sent.base)
        tag = 5 if wild == "source" else one.tag
        room = one.count * one.sent.elements
        return Message(source, dest, tag, one.sent, one.count, plain, room, one.key)
    return one


def _with_equal_room(messages: list[Message], wild: dict[int, str]) -> list[Message]:
    most: dict[int, int] = defaultdict(int)
    for one in messages:
        most[one.dest] = max(most[one.dest], one.room * BASES[one.received.base])
    byte = Datatype((), "MPI_BYTE", 1, 1, "MPI_BYTE")
    equal = []
    for one in messages:
        if wild[one.dest] in ("source", "both", "tag"):
            # Bytes at both ends, since one receive may take any of them.
            size = one.count * one.sent.elements * BASES[one.sent.base]
            room = max(most[one.dest], size)
            equal.append(Message(one.source, one.dest, one.tag, byte, size, byte, room, one.key))
        else:
            equal.append(one)
    rooms: dict[int, int] = defaultdict(int)
    for one in equal:
        rooms[one.dest] = max(rooms[one.dest], one.room)
    return [
        one
        if one.sent is not byte
        else Message(one.source, one.dest, one.tag, byte, one.count, byte, rooms[one.dest], one.key)
        for one in equal
    ]


def _declared(messages: list[Message]) -> list[Datatype]:
    types: dict[str, Datatype] = {}
    for one in messages:
        types |= {datatype.name: datatype for datatype in (one.sent, one.received)}
    return list(types.values())


def _post(world: World, comm: Communicator, one: Message, wild: str) -> list[str]:
    source = "MPI_ANY_SOURCE" if wild in ("source", "both") else one.source
    tag = "MPI_ANY_TAG" if wild in ("tag", "both") else one.tag
    where = f"{one.room}, {one.received.name}, {source}, {tag}, {comm}, &rr[posted]"
    lines = [
        f"bytes[posted] = {one.receive_bytes()}; of[posted] = {one.received.name};",
        "in[posted] = buffer(bytes[posted], 3);",
    ]
    if world.random.random() < 0.3:
        lines += [f"MPI_Recv_init(in[posted], {where}); MPI_Start(&rr[posted]);"]
    else:
        lines += [f"MPI_Irecv(in[posted], {where});"]
    return _at(comm, one.dest, [*lines, "posted++;"])


def _start(world: World, comm: Communicator, one: Message) -> list[str]:
    what = f"out, {one.count}, {one.sent.name}, {one.dest}, {one.tag}, {comm}"
    send = world.random.choice(BLOCKING + STARTED + PERSISTENT)
    if send in BLOCKING:
        call = f"MPI_{send}({what});"
    elif send in STARTED:
        call = f"MPI_{send}({what}, &sr[sent]); sent++;"
    else:
        call = f"MPI_{send}({what}, &sr[sent]); MPI_Start(&sr[sent]); sent++;"
    return _at(comm, one.source, [one.send_buffer("out"), call])


def consumers(world: World) -> Phase:
    """Ranks that take whatever comes, after probes of four kinds."""
    random = world.random
    comm = world.any_communicator(2)
    base = random.choice(list(BASES))
    head = [f"MPI_Request sr[{MOST}]; MPI_Status ss[{MOST}]; int sent = 0; uint64_t sum = 0; (void)sum;"]
    expected: dict[int, int] = defaultdict(int)
    sends = []
    for source, dest in _pairs(world, comm, random.randint(2, 12)):
        count, tag, key = random.choice((0, 1, 50, 3_000)), random.randrange(3), world.key()
        bytes_ = count * BASES[base]
        call = (
            f"MPI_Isend(buffer({bytes_}, {key}), {count}, {base}, {dest}, {tag}, {comm}, &sr[sent]); sent++;"
        )
        sends += _at(comm, source, [call])
        expected[dest] += 1
    takes = []
    for dest, count in sorted(expected.items()):
        takes += _at(
            comm, dest, _take(random.choice(("Probe", "Iprobe", "Mprobe", "Improbe")), comm, base, count)
        )
    tail = [
        f"complete({random.choice(WAYS)}, sent, sr, ss);",
        f"if (place({comm.number}) >= 0) MPI_Barrier({comm}); /* before what follows, which a wildcard would take */",
    ]
    title = f"consumers in {comm.number}"
    return Phase(title, tuple(head), tuple(tail), ((*sends, *takes),), frozenset({comm.number}))


MOST = 16
"""More than the messages that a rank of `consumers` sends."""


def _take(how: str, comm: Communicator, base: str, count: int) -> list[str]:
    where = f"MPI_ANY_SOURCE, MPI_ANY_TAG, {comm}"
    matched = how in ("Mprobe", "Improbe")
    message = ", &m" if matched else ""
    if how in ("Iprobe", "Improbe"):
        find = f"for (int flag = 0; !flag;) MPI_{how}({where}, &flag{message}, &p);"
    else:
        find = f"MPI_{how}({where}{message}, &p);"
    into = f"in, count, {base}"
    receive = (
        f"MPI_Mrecv({into}, &m, &s);"
        if matched
        else f"MPI_Recv({into}, p.MPI_SOURCE, p.MPI_TAG, {comm}, &s);"
    )
    return [
        f"for (int i = 0; i < {count}; i++) {{",
        "  MPI_Status p, s; int count; MPI_Message m; (void)m;",
        f"  {find}",
        f"  MPI_Get_count(&p, {base}, &count);",
        f"  size_t bytes = (size_t)count * {BASES[base]}; void *in = buffer(bytes, 3);",
        f"  {receive}",
        f"  sum += mixed(of_status(&s, {base}), (int64_t)digest(in, bytes));",
        "}",
        'note("taken", sum);',
    ]


def exchanges(world: World) -> Phase:
    """Rings of MPI_Sendrecv and its relatives, and a receive that is cancelled."""
    random = world.random
    comm = world.any_communicator()
    count, key, shift, tag = (
        random.randint(1, 2000),
        world.key(),
        random.randint(0, comm.size),
        random.randrange(9),
    )
    at, n = f"place({comm.number})", comm.size
    ends = f"int to = ({at} + {shift}) % {n}, from = ({at} + {n * 2} - {shift}) % {n}; (void)to; (void)from;"
    calls = {
        "Sendrecv": f"MPI_Sendrecv(out, {count}, MPI_INT, to, {tag}, in, {count}, MPI_INT, from, {tag}, {comm}, &s);",
        "Sendrecv_replace": f"memcpy(in, out, sizeof(int) * {count}); "
        f"MPI_Sendrecv_replace(in, {count}, MPI_INT, to, {tag}, from, {tag}, {comm}, &s);",
        "Isendrecv": f"MPI_Request r; MPI_Isendrecv(out, {count}, MPI_INT, to, {tag}, in, {count}, MPI_INT, from, "
        f"{tag}, {comm}, &r); MPI_Wait(&r, &s);",
        "null": f"MPI_Sendrecv(out, {count}, MPI_INT, MPI_PROC_NULL, 0, in, {count}, MPI_INT, MPI_PROC_NULL, 0, "
        f"{comm}, &s);",
        "Cancel": f"MPI_Request r; MPI_Irecv(in, {count}, MPI_INT, from, 777, {comm}, &r); MPI_Cancel(&r); "
        "MPI_Wait(&r, &s); int c; MPI_Test_cancelled(&s, &c); "
        'note("cancelled", (uint64_t)c); memset(&s, 0, sizeof s);',
    }
    parts = []
    for name in random.sample(sorted(calls), random.randint(1, 3)):
        told = "" if name == "Cancel" else _note("in", 4 * count, "s", "MPI_INT")
        if name == "Isendrecv":  # whose status MPICH 4.0 leaves as it was
            told = f'note("received", digest(in, {4 * count}));'
        parts.append(("{ MPI_Status s;", f"  {calls[name]}", f"  {told}", "}"))
    head = (
        f"if ({at} >= 0) {{",
        ends,
        f"int *out = numbers({count}, {key} + {at}), *in = numbers({count}, 9);",
    )
    return Phase(f"exchanges in {comm.number}", head, ("}",), tuple(parts), frozenset({comm.number}))


def partitioned(world: World) -> Phase:
    """Partitioned messages, whose parts become ready out of order, twice."""
    random = world.random
    comm = world.any_communicator(2)
    source, dest = random.sample(range(comm.size), 2)
    partitions, count, tag, key = (
        random.randint(1, 5),
        random.randint(1, 400),
        random.randrange(9),
        world.key(),
    )
    order = random.sample(range(partitions), partitions)
    total = partitions * count
    send = [
        f"int *out = numbers({total}, {key}); MPI_Request r;",
        f"MPI_Psend_init(out, {partitions}, {count}, MPI_INT, {dest}, {tag}, {comm}, MPI_INFO_NULL, &r);",
        "for (int turn = 0; turn < 2; turn++) {",
        "  MPI_Start(&r);",
        *(f"  MPI_Pready({at}, r);" for at in order),
        "  MPI_Wait(&r, MPI_STATUS_IGNORE);",
        "}",
        "MPI_Request_free(&r);",
    ]
    take = [
        f"int *in = numbers({total}, 3); MPI_Request r;",
        f"MPI_Precv_init(in, {partitions}, {count}, MPI_INT, {source}, {tag}, {comm}, MPI_INFO_NULL, &r);",
        "for (int turn = 0; turn < 2; turn++) {",
        "  MPI_Start(&r);",
        f"  for (int flag = 0; !flag;) MPI_Parrived(r, {random.randrange(partitions)}, &flag);",
        "  MPI_Wait(&r, MPI_STATUS_IGNORE);",
        f'  note("partitions", digest(in, sizeof(int) * {total}));',
        "}",
        "MPI_Request_free(&r);",
    ]
    lines = (*_at(comm, source, send), *_at(comm, dest, take))
    return Phase(f"partitioned messages in {comm.number}", (), (), (lines,), frozenset({comm.number}))
