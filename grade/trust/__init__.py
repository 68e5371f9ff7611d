"""Decide what a submission may contain, and read, compile and link files that are not trusted."""
