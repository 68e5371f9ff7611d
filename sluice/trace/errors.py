"""The error of a wrong trace: apart, so that who catches it need not wait for NumPy."""


class BadTraceFile(ValueError):
    """A trace that cannot be read or used; the text says which file, where in it, and why."""
