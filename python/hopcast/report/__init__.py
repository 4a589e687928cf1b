"""Reports: the screen, `report.html`, Parquet tables, the timeline, and comparisons of two of them.

A report is what one run leaves: a `summary` (the keys of `report.json`) and `tables` (pyarrow).
Everything here reads that pair and nothing else, so that a report that was read back from its
directory looks the same as one that has just been made.
"""

from hopcast.report.store import Result, read, write

__all__ = ["Result", "read", "write"]
