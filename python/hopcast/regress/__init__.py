"""Regression tests of performance: series of observations, the test that notices a change, and its dashboard.

`chew` the test; `logs` changes and outliers, written by people; `walk` the test along a series; `store` the
database; `readers` rows of files; `dashboard` the pages.
"""
