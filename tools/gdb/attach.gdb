# What `make gdb` does first: symbols are loaded already; attach to the
# machine that `make qemu-gdb` holds, and add the commands of sluice.py.
set confirm off
set pagination off
set architecture riscv:rv64
# Code is read from the program, so breakpoints may be set before the kernel
# has turned paging on.
set trust-readonly-sections on
source tools/gdb/sluice.py
# A busy host's QEMU may be slow to answer; later answers are taken for others.
set remotetimeout 60
source tools/gdb/connect.py
connect build/gdb.sock
echo \nCommands of Sluice: cache dirty queue procs kstack (help user-defined)\n
