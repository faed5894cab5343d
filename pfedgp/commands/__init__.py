"""The verbs of the command line, a module each with ``add_arguments(parser)`` and ``main(args) -> int``."""
