/*
 * NVRAM in front of a disk: memory that keeps its contents without power, as
 * PrestoServe's board was.
 *
 * - A write is done when its bytes are in NVRAM. They go to the disk behind, in
 *   the order of the scheduler, and until then a read of them is answered from
 *   NVRAM. A write of the same block takes the place of an older one.
 * - A write that finds no room waits for a block to be free; so does whatever
 *   covers a part of a block.
 * - A write that the drive refuses stays in NVRAM; the console says so once.
 * - After a power cut the next boot finds what NVRAM held, and goes on.
 *
 * The memory is a RAM disk of its own, `nvram_in=disk2`, for the disk that
 * `nvram_of=disk1` names; its size is that of NVRAM. So it is for virtual time.
 */
#pragma once

#include "kernel/base/types.h"

/* Read the boot arguments. Before any disk is read. */
void nvram_init(void);
