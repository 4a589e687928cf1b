"""`Status`: what is known of a message that was received or probed."""

from hopcast.program.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, UNDEFINED

_NOBODY = 2**32 - 1
"""The core's source of sends, and of receives from `PROC_NULL`."""


class Status:
    """Source, tag and length of a message; filled by the calls that take `status=`."""

    __slots__ = ("cancelled", "nbytes", "source", "tag")

    def __init__(self):
        self.source = ANY_SOURCE
        self.tag = ANY_TAG
        self.nbytes = 0
        self.cancelled = False

    def fill(self, source, tag, nbytes, cancelled=False):
        """Sets all fields, as the core tells them."""
        if source == _NOBODY:
            source, tag = PROC_NULL, ANY_TAG
        self.source = source
        self.tag = tag
        self.nbytes = nbytes
        self.cancelled = cancelled
        return self

    def Get_source(self):
        return self.source

    def Get_tag(self):
        return self.tag

    def Get_error(self):
        """Always 0: a failed call ends the run."""
        return 0

    def Get_count(self, datatype=None):
        """Number of elements [of `datatype`, bytes without one]; `UNDEFINED` if not a whole number."""
        size = 1 if datatype is None else datatype.Get_size()
        return self.nbytes // size if self.nbytes % size == 0 else UNDEFINED

    Get_elements = Get_count

    @property
    def count(self):
        """Length [bytes]."""
        return self.nbytes

    def Is_cancelled(self):
        return self.cancelled

    def __repr__(self):
        return f"Status(source={self.source}, tag={self.tag}, nbytes={self.nbytes})"
