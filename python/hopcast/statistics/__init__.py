"""Statistics of repeated measurements and of designed experiments, over scipy and statsmodels.

`intervals` bootstrap and Student intervals; `order` drift and order effects; `modes` number and places of
modes; `effects` main effects, interactions and analysis of variance; `rankings` orders and their agreement;
`discoveries` many tests at once. Modules load their libraries, which are slow to load, when they are
imported.
"""
