"""`python -m hopcast` is the command `hopcast`."""

from hopcast.cli import main

main()
