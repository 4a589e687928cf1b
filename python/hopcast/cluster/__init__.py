"""Generative models of the processors of a cluster: fitted to calibrations, drawn as tables for platforms."""
