/*
 * What computing for the network costs in charged time, in instructions.
 * `sluice dev costs --network` counts it in the machine, and writes this file.
 *
 * Counted in the kernel of riscv64-unknown-elf-gcc
 * (12.2.0-14+deb12u1+11+b2) 12.2.0.
 */
COST(frame, 4465)
COST(sent_kb, 10182)
COST(joined_kb, 16962)
COST(rpc_call, 14884)
