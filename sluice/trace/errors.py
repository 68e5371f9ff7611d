"""The error for a wrong trace. It has its own file, so that catching it does not load NumPy."""


class BadTraceFile(ValueError):
    """The error for a trace that cannot be read or used; the text says which file, where in it, and
    why."""
