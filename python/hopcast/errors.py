"""What hopcast raises."""


class InputError(ValueError):
    """Bad input: a file, a flag, a platform. The text names the place, the value and the known choices."""
