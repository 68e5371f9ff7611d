"""The gdb command `connect`: `target remote`, but it waits for a socket's other end."""

import time

import gdb

TRIES = 100
PAUSE_S = 0.1


class Connect(gdb.Command):
    """Debug the machine at a target: connect SOCKET or connect | COMMAND.

    An editor starts gdb and `make qemu-gdb` at once, so for a socket it tries for ten seconds.
    """

    def __init__(self) -> None:
        super().__init__("connect", gdb.COMMAND_RUNNING)

    def invoke(self, words: str, from_tty: bool) -> None:
        """Connect, or raise GdbError."""
        for left in reversed(range(1 if words.startswith("|") else TRIES)):
            try:
                gdb.execute(f"target remote {words}")
            except gdb.error as error:
                if not left:
                    told = f"{error}: start `make qemu-gdb` in another terminal"
                    raise gdb.GdbError(told) from None
                time.sleep(PAUSE_S)
            else:
                return


Connect()
