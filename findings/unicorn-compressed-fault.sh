#!/bin/sh
# unicorn 2.1.4 (PyPI), RISC-V, 64 bits: after a fault of a 2-byte instruction the
# next instruction is skipped.
#
# - Read: a program under a UC_HOOK_INTR hook goes on behind the instruction that
#   faulted, as after an ecall. One expects that "behind" is the instruction's length.
# - Behaviour: pc is always the faulting address + 4. A compressed instruction has
#   2 bytes, so the instruction after it is never executed, and no error is raised.
# - Seen: a c.ld at 0x100 meets a page fault (exception 13). The hook finds pc = 0x104.
#   Of three c.li that follow, at 0x102, 0x104 and 0x106, only the last two run.
#   The same program with a 4-byte ld runs all three.
# - What follows: a harness must not trust pc in the hook, nor pc - 4 as the address of the
#   fault. It needs the address from a code hook, or code without compressed instructions.
#
# Installs unicorn in a temporary folder; fails if the behaviour changes.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install -q --disable-pip-version-check unicorn==2.1.4
"$folder/env/bin/python" - <<'EOF'
import struct

from unicorn import UC_ARCH_RISCV, UC_HOOK_CODE, UC_HOOK_INTR, UC_MODE_RISCV64, Uc
from unicorn import riscv_const as r

BASE = 0x80000000
TABLE, CODE = BASE + 0x1000, BASE + 0x100
# csrw satp,t0; pmpaddr0,a1; pmpcfg0,a2; mstatus,a5; mepc,a4; mret
ENTER = (0x18029073, 0x3B059073, 0x3A061073, 0x30079073, 0x34171073, 0x30200073)
C_LI = (0x4605, 0x4685, 0x4705)  # c.li a2,1; c.li a3,1; c.li a4,1
SET = (r.UC_RISCV_REG_A2, r.UC_RISCV_REG_A3, r.UC_RISCV_REG_A4)


def run(load: bytes) -> tuple[list[tuple[int, int]], list[int]]:
    """Run a load that faults and three c.li in supervisor mode; return hooks and registers."""
    uc = Uc(UC_ARCH_RISCV, UC_MODE_RISCV64)
    uc.mem_map(BASE, 0x4000)
    # One page of 1 GiB, 0x80000000, readable, writable, executable. Address 0 has none.
    uc.mem_write(TABLE + 16, struct.pack("<Q", (BASE >> 12) << 10 | 0xCF))
    uc.mem_write(BASE, struct.pack("<6I", *ENTER))
    uc.mem_write(CODE, load + struct.pack("<3H", *C_LI))
    uc.reg_write(r.UC_RISCV_REG_T0, 8 << 60 | TABLE >> 12)  # Sv39
    uc.reg_write(r.UC_RISCV_REG_A1, (1 << 54) - 1)
    uc.reg_write(r.UC_RISCV_REG_A2, 0x1F)
    uc.reg_write(r.UC_RISCV_REG_A5, 1 << 11)
    uc.reg_write(r.UC_RISCV_REG_A4, CODE)
    hooks = []

    def on_fault(uc: Uc, number: int, _: object) -> None:
        hooks.append((number, uc.reg_read(r.UC_RISCV_REG_PC) - BASE))

    def on_code(uc: Uc, address: int, size: int, _: object) -> None:
        if address == CODE:
            for register in (r.UC_RISCV_REG_A0, *SET):
                uc.reg_write(register, 0)

    uc.hook_add(UC_HOOK_INTR, on_fault)
    uc.hook_add(UC_HOOK_CODE, on_code)
    uc.emu_start(BASE, CODE + len(load) + 6, count=1000)
    return hooks, [uc.reg_read(register) for register in SET]


short = run(struct.pack("<H", 0x610C))  # c.ld a1,0(a0)
whole = run(struct.pack("<I", 0x00053583))  # ld a1,0(a0)
print("c.ld at 0x100: hook", short[0], "a2 a3 a4 =", short[1])
print("ld   at 0x100: hook", whole[0], "a2 a3 a4 =", whole[1])
assert short == ([(13, 0x104)], [0, 1, 1]), "the behaviour has changed"
assert whole == ([(13, 0x104)], [1, 1, 1]), "the behaviour has changed"
EOF
