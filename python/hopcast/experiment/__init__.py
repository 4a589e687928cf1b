"""Experiments: a list of pieces, run somewhere, kept in an archive, looked at."""
