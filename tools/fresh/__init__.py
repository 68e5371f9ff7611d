"""`make fresh`: README's commands, tried on bare Debian systems."""
