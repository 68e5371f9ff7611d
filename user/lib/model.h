/* Shared by programs that change files at random and compare them with a model
 * (scribble, churn). A write may be lost; the kernel then reports the loss by
 * an error of fsync, close or sync. */
#ifndef SLUICE_USER_MODEL_H
#define SLUICE_USER_MODEL_H

#include "kernel/base/types.h"

struct model_run {
    const char *path;     /* what is changed */
    u64 seed, operations; /* operations: how many to make */
    u64 chance;           /* the generator's state */
    u64 number;           /* of the operation, from 1 on */
    bool may_be_full;     /* ENOSPC is allowed; then nothing may change */
    bool may_lose;        /* EIO and EROFS are allowed: they report a loss */
    bool other_may_lose;  /* sync may report a loss of another disk */
    bool told; /* fsync or close reported a loss since the last comparison */
    /* The operation in words, for a message; the program sets it. */
    void (*describe)(char *to, u64 bytes);
};
extern struct model_run model_run;

u64 below(u64 n); /* 0 to n - 1, at random */

/* End the program: with status 1, the seed, the operation and what is wrong. */
void fail(const char *fmt, ...) PRINTF(1, 2) NORETURN;

/* Handle a call that failed with errno (fd is -1), or an open file that differs
 * from the model. If the cause is an allowed loss, and the loss is reported (by
 * errno, earlier, or by an fsync of the file now), print so and end the program
 * with status 0. */
void end_if_told(int fd);

/* Check the result of fsync or close: success, or a report that writes failed.
 * A report excuses differences until everything has been compared. */
void expect_or_told(int got);

/* Call sync, and print if it reports a loss, of this file or of another. */
void sync_or_tell(void);

/* True if a call failed because the disk is full, and it may be full. */
bool was_full(i64 got);

#endif
