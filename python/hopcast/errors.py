class InputError(ValueError):
    pass
