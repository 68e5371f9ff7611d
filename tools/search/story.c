/* The story of a path: its steps in words, and the state after each. */
#include <stdio.h>

#include "tools/search/explore.h"

static void tell_buffers(void)
{
    static const char *const flags[] = {
        "busy",       "asked",         "valid", "dirty",  "pending",
        "being read", "being written", "async", "failed", "unwanted",
        "prefetched", "evictable",     "pinned"};
    printf("state buffers");
    BUF_EACH (b) {
        printf(" [block %lu:", b->block.blkno);
        for (u32 i = 0; i < NELEM(flags); i++)
            if (b->flags & 1U << i && !(b->flags & (B_ASYNC)&1U << i))
                printf(" %s", flags[i]);
        if (b->block.dirtied_ns)
            printf(" for %lu ms",
                   (world.now_ns - b->block.dirtied_ns) / NS_PER_MS);
        printf("]");
    }
    const struct queue *q = &the_disk()->queue;
    printf("; queued %lu reads, %lu writes, %lu candidates; at the device",
           q->length[SET_READS], q->length[SET_WRITES],
           q->length[SET_CANDIDATES]);
    for (u32 i = 0; i < SLOTS_MOST; i++)
        if (world.slots[i].first)
            printf(" %s %lu+%u", world.slots[i].write ? "write" : "read",
                   world.slots[i].sector, world.slots[i].n);
    printf("\nstate disk");
    for (u32 i = 0; i < watch->nblocks; i++)
        printf(" %u:%u%s", i, (u32)world.disk[i],
               world.disk[i] == world.wanted[i] ? "" : "(old)");
    printf("\n");
}

static void tell_choice(struct choice c)
{
    const struct task *t = &world.tasks[c.what];
    const struct slot *s = &world.slots[c.what];
    u64 until_ns;
    switch (c.kind) {
    case RUN:
        printf("%s ", t->proc.name);
        if (c.what != DAEMON)
            printf(t->inside ? "goes on with %s" : "begins %s",
                   watch->ops[c.what][t->at].text ?: "nothing more");
        else
            printf("runs");
        if (c.pause)
            printf(", and is paused where it releases its locks for the "
                   "%uth time",
                   c.pause);
        break;
    case END:
    case FAIL:
        printf("the device %s command %u: %s of %u block%s from %lu on",
               c.kind == FAIL ? "fails" : "has done", c.what,
               s->write ? "write" : "read", s->n, s->n > 1 ? "s" : "",
               s->sector);
        break;
    case FIRE:
        printf("a timer of the disk fires");
        break;
    case LACK:
        printf("memory runs out: the next request for some gets none");
        break;
    case WAIT:
        time_can_pass(&until_ns);
        printf("%lu ms pass", (until_ns - world.now_ns) / NS_PER_MS);
    }
}

static void tell_tasks(void)
{
    for (u32 i = 0; i < watch->ntasks; i++) {
        const struct task *t = &world.tasks[i];
        static const char *const states[] = {"absent", "can run", "sleeps",
                                             "has ended"};
        printf("%s%s %s", i ? ", " : "state ", t->proc.name, states[t->state]);
    }
    printf("\n");
}

int replay(const char *path)
{
    watch->tells = true;
    tell_tasks();
    tell_buffers();
    for (u32 n = 1; *path; n++) {
        char letter;
        u32 what = 0, pause = 0;
        if (sscanf(path, "%c%u.%u", &letter, &what, &pause) < 2 ||
            !strchr(letters, letter)) {
            fprintf(stderr, "a choice is wrong: %s\n", path);
            return 2;
        }
        struct choice c = {strchr(letters, letter) - letters, what, pause},
                      may[CHOICES_MOST];
        u32 nmay = list_choices(may), i = 0;
        while (i < nmay && (may[i].kind != c.kind || may[i].what != c.what))
            i++;
        if (i == nmay) {
            fprintf(stderr, "step %u is not possible here: %s\n", n, path);
            return 2;
        }
        printf("step %u ", n);
        tell_choice(c);
        printf("\n");
        if (!step(c)) {
            printf("violation %s\n", watch->what);
            return 1;
        }
        tell_tasks();
        tell_buffers();
        path = strchr(path, ',') ? strchr(path, ',') + 1 : "";
    }
    if (search->prints_words)
        state_print();
    printf("result nothing is wrong\n");
    return 0;
}
