"""Questions that take several runs: how far a program scales, which algorithms and which rank map suit a
machine."""
