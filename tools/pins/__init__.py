"""The pins of Python packages: the lock file, and the file of each group that is made from it."""
