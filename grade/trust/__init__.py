"""Decide what a submission may contain, and read, compile and link a stranger's files."""
