"""`Group`: an ordered set of ranks."""

from hopcast.program.constants import IDENT, SIMILAR, UNDEFINED, UNEQUAL


class Group:
    """Ranks of the world in order; `rank` is the caller's place among them, or `UNDEFINED`."""

    __slots__ = ("_index", "_me", "members")

    def __init__(self, members, me):
        """`members`: world ranks, no two equal. `me`: the caller's world rank."""
        self.members = members
        self._me = me
        self._index = None

    def index(self, world_rank):
        """Place of a world rank, or `UNDEFINED`."""
        if isinstance(self.members, range):
            return self.members.index(world_rank) if world_rank in self.members else UNDEFINED
        if self._index is None:
            self._index = {member: place for place, member in enumerate(self.members)}
        return self._index.get(world_rank, UNDEFINED)

    def Get_size(self):
        return len(self.members)

    def Get_rank(self):
        return self.index(self._me)

    size = property(Get_size)
    rank = property(Get_rank)

    def _of(self, members):
        return Group(tuple(members), self._me)

    def _check(self, ranks):
        ranks = [int(rank) for rank in ranks]
        for rank in ranks:
            if not 0 <= rank < len(self.members):
                raise ValueError(f"rank {rank} is not in a group of {len(self.members)}")
        if len(set(ranks)) != len(ranks):
            raise ValueError(f"a group holds each rank once, not {ranks}")
        return ranks

    def Incl(self, ranks):
        """The members at these places, in this order."""
        return self._of(self.members[rank] for rank in self._check(ranks))

    def Excl(self, ranks):
        """The members but those at these places."""
        out = set(self._check(ranks))
        return self._of(member for place, member in enumerate(self.members) if place not in out)

    def _ranges(self, ranges):
        for first, last, stride in ranges:
            yield from range(first, last + (1 if stride > 0 else -1), stride)

    def Range_incl(self, ranges):
        """`Incl` of `(first, last, stride)` ranges, last included."""
        return self.Incl(self._ranges(ranges))

    def Range_excl(self, ranges):
        """`Excl` of `(first, last, stride)` ranges, last included."""
        return self.Excl(self._ranges(ranges))

    @staticmethod
    def Union(group1, group2):
        """The first group's members, then those of the second that are not in it."""
        more = [member for member in group2.members if group1.index(member) == UNDEFINED]
        return group1._of([*group1.members, *more])

    @staticmethod
    def Intersection(group1, group2):
        """The members of both, in the first's order."""
        return group1._of(member for member in group1.members if group2.index(member) != UNDEFINED)

    @staticmethod
    def Difference(group1, group2):
        """The first's members that are not in the second."""
        return group1._of(member for member in group1.members if group2.index(member) == UNDEFINED)

    @staticmethod
    def Compare(group1, group2):
        """`IDENT`, `SIMILAR` (another order) or `UNEQUAL`."""
        if tuple(group1.members) == tuple(group2.members):
            return IDENT
        return SIMILAR if set(group1.members) == set(group2.members) else UNEQUAL

    def Translate_ranks(self, ranks=None, group=None):
        """The places in `group` of the members at these places here; `UNDEFINED` where they are not."""
        ranks = range(len(self.members)) if ranks is None else ranks
        if group is None:
            return [self.members[rank] for rank in ranks]
        return [UNDEFINED if rank < 0 else group.index(self.members[rank]) for rank in ranks]

    def Free(self):
        """Nothing to do: Python frees it."""

    def __eq__(self, other):
        return isinstance(other, Group) and Group.Compare(self, other) == IDENT

    def __hash__(self):
        return hash(tuple(self.members))

    def __len__(self):
        return len(self.members)

    def __repr__(self):
        return f"Group({list(self.members)})"
