/* What programs share that change files at random and compare them with a model
 * (scribble, churn). */
#ifndef SLUICE_USER_MODEL_H
#define SLUICE_USER_MODEL_H

#include "kernel/base/types.h"

struct model_run {
    const char *path;     /* what is changed */
    u64 seed, operations; /* how many are to be made */
    u64 chance;           /* the generator's state */
    u64 number;           /* of the operation, from 1 on */
    bool may_be_full;     /* ENOSPC is right: then nothing may change */
    bool may_lose;        /* EIO and EROFS are right: a loss is told */
    bool other_may_lose;  /* another disk may: sync may tell of it */
    bool told; /* fsync or close has told, and nothing was compared */
    /* What the operation is doing, for a message; set by the program. */
    void (*describe)(char *to, u64 bytes);
};
extern struct model_run model_run;

u64 below(u64 n); /* 0 to n - 1, at random */

/* End the program: with status 1, the seed, the operation and what is wrong. */
void fail(const char *fmt, ...) PRINTF(1, 2) NORETURN;

/* A call has failed with errno (fd is -1), or an open file differs from the
 * model. If that is a loss that may be and is told, by errno, before, or by an
 * fsync of the file, the program ends with status 0 and says so. */
void end_if_told(int fd);

/* What fsync or close returned: success, or that writes have failed. That
 * excuses a difference until all has been compared. */
void expect_or_told(int got);

/* sync, or say that it told of a loss: of this file or of another. */
void sync_or_tell(void);

/* True if a call failed because the disk is full, and it may be full. */
bool was_full(i64 got);

#endif
