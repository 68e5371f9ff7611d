/*
 * What the host has told about a disk of the crash laboratory's Linux guest, in
 * the file /machine of the disk's root: words with spaces between them.
 */
#pragma once

#include "user/lib.h"

struct crash_machine {
    char type[16];     /* of the file system, as ext4 */
    char options[128]; /* of mount */
    u64 bytes;         /* of each workload's part of the disk */
    u64 count;         /* of workloads */
    u64 pace;          /* how many times as fast as Linux's all timers are */
};

struct crash_machine crash_machine(void);
