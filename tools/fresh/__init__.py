"""Try README's commands on bare Debian systems (`sluice dev fresh`)."""
