"""The pins of Python packages: the file of each group, made from pyproject.toml."""
