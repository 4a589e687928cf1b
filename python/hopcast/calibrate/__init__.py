"""From measurements of a machine to the numbers of a platform file, with their errors."""
