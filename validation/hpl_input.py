"""Input file of HPL, alone and as a part of HPCC."""

from __future__ import annotations

_TEXT = """HPLinpack benchmark input file
hopcast
HPL.out      output file name (if any)
{device:<13}device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
{order:<13}Ns
1            # of NBs
{block:<13}NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
{rows:<13}Ps
{columns:<13}Qs
{threshold:<13}threshold
1            # of panel fact
{panel:<13}PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
{smallest:<13}NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
{recursive:<13}RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
{broadcast:<13}BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
{depth:<13}DEPTHs (>=0)
{swap:<13}SWAP (0=bin-exch,1=long,2=mix)
{swap_from:<13}swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
"""


def text(order: int, rows: int, columns: int, *, depth: int = 1, **settings: int | float) -> str:
    """The input file for a matrix of that order on a grid of processes. `settings`, in HPL's numbers:
    `device`, `block`, `threshold`, `panel`, `smallest`, `recursive`, `broadcast`, `swap`, `swap_from`."""
    return _TEXT.format(order=order, rows=rows, columns=columns, depth=depth, **settings)
