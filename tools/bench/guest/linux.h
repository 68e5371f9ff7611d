/*
 * What programs of the Linux guest have beside user/lib.h: any system call of
 * Linux, by its number on RISC-V.
 */
#pragma once

#include "kernel/base/types.h"

enum linux_call_number {
    LINUX_IOCTL = 29,
    LINUX_MKDIRAT = 34,
    LINUX_UNLINKAT = 35,
    LINUX_SYMLINKAT = 36,
    LINUX_LINKAT = 37,
    LINUX_UMOUNT = 39,
    LINUX_MOUNT = 40,
    LINUX_TRUNCATE = 45,
    LINUX_CHDIR = 49,
    LINUX_CHROOT = 51,
    LINUX_OPENAT = 56,
    LINUX_PWRITE = 68,
    LINUX_FSTAT = 80,
    LINUX_SYNC = 81,
    LINUX_EXIT_GROUP = 94,
    LINUX_NANOSLEEP = 101,
    LINUX_CLOCK_GETTIME = 113,
    LINUX_REBOOT = 142,
    LINUX_BRK = 214,
    LINUX_CLONE = 220,
    LINUX_EXECVE = 221,
    LINUX_FADVISE = 223,
    LINUX_WAIT4 = 260,
    LINUX_SYNCFS = 267,
    LINUX_FINIT_MODULE = 273,
    LINUX_RENAMEAT = 276,
    LINUX_CACHESTAT = 451,
};

/* AT_FDCWD: paths begin at the folder in use. */
#define LINUX_HERE ((u64)-100)

enum { LINUX_O_DIRECT = 0x4000 };

/* The result, or -1 with errno set. */
i64 linux_call(u64 number, u64 a, u64 b, u64 c, u64 d, u64 e);
