"""Studies: experiments whose pieces are ordinary runs, crossed from what a file varies."""
