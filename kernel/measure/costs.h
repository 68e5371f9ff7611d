/*
 * What computing costs in charged time, in instructions. `sluice dev costs`
 * counts it in the machine, and writes this file. What has no row is free.
 *
 * Counted in the kernel of riscv64-unknown-elf-gcc
 * (12.2.0-14+deb12u1+11+b2) 12.2.0.
 */
COST(program, 76)
COST(work, 704)
COST(call, 130)
COST(read, 1069)
COST(write, 571)
COST(copy_in_kb, 262)
COST(copy_out_kb, 317)
COST(interrupt, 654)
COST(switch, 1084)
COST(look, 166)
COST(approach, 1354)
COST(fork, 78183)
COST(queued, 324)
COST(issued, 1918)
COST(completed, 1524)
COST(hit, 1130)
COST(miss, 824)
COST(evicted, 269)
COST(dirtied, 1242)
COST(absorbed, 267)
COST(ahead, 582)
COST(writing, 668)
COST(counted, 428650)
