/* Check that the options are possible, before anything is written. */
#include "user/load/iogen/iogen.h"

#define MINUTE_S 60

/* End the program if options of a job do not fit together. */
static void check_options(const struct job *j)
{
    check_given(j);
    if (j->rate_iops && j->thinktime_us)
        refuse("%s: thinktime_us=%lu: not with rate_iops=", j->name,
               j->thinktime_us);
    if (has(j, &j->thinktime_blocks) && !j->thinktime_us)
        refuse("%s: thinktime_blocks=%lu: only with thinktime_us=", j->name,
               j->thinktime_blocks);
    if (has(j, &j->arrival) && !j->rate_iops)
        refuse("%s: arrival=%s: only with rate_iops=", j->name,
               arrivals[j->arrival].name);
    if (j->partial_percent && j->bs_bytes <= SECTOR)
        refuse("%s: partial_percent=%lu: bs=%lu has no last sector to leave "
               "out",
               j->name, j->partial_percent, j->bs_bytes);
    if (j->layout && !j->size_bytes)
        refuse("%s: layout=1: only with size=", j->name);
    if (j->log_path && j->numjobs > 1)
        refuse("%s: log=%s: only with numjobs=1", j->name, j->log_path);
}

static struct job *job_named(const char *name)
{
    for (int i = 0; i < job_count; i++)
        if (strcmp(jobs[i].name, name) == 0)
            return &jobs[i];
    return NULL;
}

/* Check names and until=. The job named in until= must end by itself. */
static void check_names(struct job *j)
{
    if (job_named(j->name) != &jobs[j->first])
        refuse("name=%s: another job has it", j->name);
    for (struct job *other = jobs; other < j; other++)
        if (j->log_path && other->log_path &&
            strcmp(j->log_path, other->log_path) == 0)
            refuse("%s: log=%s: job %s has it", j->name, j->log_path,
                   other->name);
    if (!j->until)
        return;
    j->watched = job_named(j->until);
    if (!j->watched)
        refuse("%s: until=%s: no such job", j->name, j->until);
    if (j->watched->until)
        refuse("%s: until=%s: that job has an until= itself", j->name,
               j->until);
}

/* Check the options of rw=mogul, which dirties a share of the cache. The
 * cache's blocks are those of the root disk. */
static void check_mogul(struct job *j, bool device)
{
    struct stat root;
    if (stat("/", &root) < 0)
        die("/");
    j->count = j->share_percent * j->cache_blocks / 100;
    j->period_ns = j->period_s * NS_PER_S;
    if (j->count == 0)
        refuse("%s: cache_blocks=%lu: its share is no block", j->name,
               j->cache_blocks);
    if (device)
        refuse("%s: filename=%s: rw=mogul needs a file", j->name, j->filename);
    if (j->bs_bytes != root.st_blksize || j->offset_bytes % j->bs_bytes != 0)
        refuse("%s: bs=%lu: for rw=mogul the cache's blocks of %u bytes, and "
               "offset= a multiple",
               j->name, j->bs_bytes, root.st_blksize);
    u64 needed = (j->count * MINUTE_S + j->period_s - 1) / j->period_s;
    if (j->blocks < needed)
        refuse("%s: size=%lu: %lu blocks; rw=mogul writes %lu a minute, none "
               "twice",
               j->name, j->size_bytes, j->blocks, needed);
}

/* End the program if a job on a device asks for what only files have, or for
 * parts of sectors. */
static void check_device(const struct job *j)
{
    if ((j->bs_bytes | j->offset_bytes) % SECTOR != 0)
        refuse("%s: bs=%lu: %s has sectors of %d bytes", j->name, j->bs_bytes,
               j->filename, SECTOR);
    if (j->layout || j->fsync_every)
        refuse("%s: filename=%s: fsync= and layout= need a file", j->name,
               j->filename);
}

/* Check that the file is there, and large enough. Sets size and blocks. */
static void check_file(struct job *j)
{
    struct stat st = {0};
    bool found = stat(j->filename, &st) == 0;
    if (!found && !(j->layout && errno == ENOENT))
        refuse("%s: filename=%s: %s", j->name, j->filename, strerror(errno));
    if (found && !S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
        refuse("%s: filename=%s: is not a file or disk", j->name, j->filename);
    bool device = S_ISCHR(st.st_mode);
    if (device)
        check_device(j);
    u64 there = MAX(st.st_size, j->offset_bytes) - j->offset_bytes;
    if (!j->size_bytes)
        j->size_bytes = there - there % j->bs_bytes;
    if (j->size_bytes > there && !j->layout)
        refuse("%s: size=%lu: %s has %lu bytes from offset=%lu on", j->name,
               j->size_bytes, j->filename, there, j->offset_bytes);
    if (j->size_bytes == 0 || j->size_bytes % j->bs_bytes != 0)
        refuse("%s: size=%lu: must be a multiple of bs=%lu", j->name,
               j->size_bytes, j->bs_bytes);
    j->blocks = j->size_bytes / j->bs_bytes;
    if (j->is & ZIPF && j->blocks > ZIPF_MAX)
        refuse("%s: size=%lu: more than %lu blocks for Zipf", j->name,
               j->size_bytes, ZIPF_MAX);
    if (j->step > j->blocks / j->streams)
        refuse("%s: step=%lu: of %lu streams each has %lu blocks", j->name,
               j->step, j->streams, j->blocks / j->streams);
    if (j->is & MOGUL)
        check_mogul(j, device);
}

void check_all(void)
{
    for (int i = 0; i < job_count; i++) {
        struct job *j = &jobs[i];
        if (!j->name)
            refuse("job %d has no name=", i + 1);
        if (!has(j, &j->mode))
            refuse("%s: rw= is needed", j->name);
        j->is = modes[j->mode].is;
        check_options(j);
    }
    for (int i = 0; i < job_count; i++) {
        check_names(&jobs[i]);
        check_file(&jobs[i]);
    }
}
