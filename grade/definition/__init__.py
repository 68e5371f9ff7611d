"""What a lab is: its files, its policy, its tests and points, read from its lab.toml."""
