"""A lab's definition: its files, its policy, its tests and points, read from its lab.toml."""
