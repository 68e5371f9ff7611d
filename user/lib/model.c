/* Shared by programs that compare files with a model (model.h). */
#include "user/lib.h"
#include "user/lib/model.h"
#include "user/lib/random.h"

struct model_run model_run = {.seed = 1, .operations = 1000};

u64 below(u64 n)
{
    return random_below(&model_run.chance, n);
}

void fail(const char *fmt, ...)
{
    const struct model_run *m = &model_run;
    char what[200], operation[2 * PATH_BYTES + 100];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    m->describe(operation, sizeof operation);
    diex("%s: seed %lu, operation %lu, %s: %s", m->path, m->seed, m->number,
         operation, what);
}

void end_if_told(int fd)
{
    const struct model_run *m = &model_run;
    bool told = fd < 0 ? errno == EIO || errno == EROFS
                       : m->told || (fsync(fd) < 0 && errno == EIO);
    if (!m->may_lose || !told)
        return;
    printf("a loss in %s was told: operation %lu\n", m->path, m->number);
    exit(0);
}

void expect_or_told(int got)
{
    struct model_run *m = &model_run;
    if (got < 0 && (errno != EIO || !m->may_lose))
        fail("expected success, got: %s", strerror(errno));
    m->told |= got < 0;
}

void sync_or_tell(void)
{
    const struct model_run *m = &model_run;
    if (sync() == 0)
        return;
    if (errno != EIO || (!m->may_lose && !m->other_may_lose))
        fail("expected success, got: %s", strerror(errno));
    printf("@ sync told of a loss\n");
}

bool was_full(i64 got)
{
    return got < 0 && errno == ENOSPC && model_run.may_be_full;
}
