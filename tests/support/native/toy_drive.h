/*
 * A drive that tests of schedulers can work out by hand: 100 sectors a track, a
 * sector passing each microsecond; a seek takes 10 us a track.
 */
#ifndef SLUICE_NATIVE_TOY_DRIVE_H
#define SLUICE_NATIVE_TOY_DRIVE_H

#include "tests/support/native/test.h"

/* Set drive_approaches to it (test.h). */
struct approach toy_drive(const struct queue *, u64 start_ns,
                          const struct request *first, u64 gap_ns,
                          const struct request *);

#endif
