/*
 * The machine under the search: the cache, the queue and the policies are the
 * kernel's own; this is what they run on.
 *
 * - A task is a process of the kernel on a stack of its own. It runs until it
 *   sleeps, ends an operation, or is paused at the release of its last spin
 *   lock. Then the search chooses what comes next.
 * - All that may differ between two states is static, in `world` or in the
 *   kernel's own variables: the search copies it (state.c). What is not part of
 *   a state is reached by a pointer that never changes (struct observer).
 * - Time stands still while a task runs. It goes on only when no task can run,
 *   and then to the next deadline.
 */
#ifndef SLUICE_SEARCH_MACHINE_H
#define SLUICE_SEARCH_MACHINE_H

#include <setjmp.h>
#include <string.h>

#include "kernel/cache/bcache.h"
#include "kernel/policy/registry.h"

#define TASKS_MOST   4 /* the update daemon is the first */
#define BLOCKS_MOST  12
#define OPS_MOST     12
#define BUFFERS_MOST 16
#define STACK_BYTES  8192
#define SLOTS_MOST   4 /* commands that the device has */
#define TIMERS_MOST  4
#define BLOCK_BYTES  SECTOR_BYTES
#define ARENA_BYTES  (1 << 20)
#define DAEMON       0
#define LOCKS_DEEP   8
#define COMMAND_MOST 4 /* blocks of a command */

/* Numbers by which the search knows what kind of value a word holds (state.c):
 * the upper 16 bits. No pointer, count or flag of the kernel has them. */
#define CLASS_OF(word)  ((word) >> 48)
#define CLASS_WRITE     0xa1UL /* numbers of writes */
#define CLASS_USE       0xa2UL /* uses of buffers */
#define CLASS_ARRIVAL   0xa3UL /* arrivals at a queue */
#define CLASS_VALUE     0xa4UL /* contents of blocks */
#define CLASS_TIME      0xa5UL
#define FIRST_OF(class) ((class) << 48)
#define TIME_ZERO       ((FIRST_OF(CLASS_TIME) / NS_PER_S + 1000) * NS_PER_S)

/* An operation of a program, as a letter with the numbers of blocks: `D3`. */
struct op {
    char what;
    u32 n, blocks[3];
    const char *text;
};

enum task_state { TASK_ABSENT, TASK_READY, TASK_ASLEEP, TASK_DONE };

struct task {
    struct proc proc;
    enum task_state state;
    bool paused, timed_out;
    const void *chan;
    u64 deadline_ns;       /* 0: none */
    u32 at;                /* the operation that it is in, or begins next */
    bool inside;           /* it is in that operation */
    u32 failures_before;   /* world.failures_left when that began */
    u64 owed[BLOCKS_MOST]; /* values that must be on the disk after it */
    struct buf *kept[BLOCKS_MOST]; /* that it has taken and keeps; or NULL */
    void *go_on[5];                /* __builtin_setjmp */
};

struct slot {
    struct span *first; /* NULL: free */
    u64 sector;
    u32 n;
    bool write, flush;
    u64 values[COMMAND_MOST]; /* to be written */
};

extern struct world {
    u64 now_ns, next_value;
    struct task tasks[TASKS_MOST];
    struct slot slots[SLOTS_MOST];
    struct timer *timers[TIMERS_MOST];
    u32 failures_left, pauses_left, shortages_left;
    u32 lacks_memory;        /* the next request for memory gets none */
    u32 refused;             /* requests for memory so far that got none */
    u64 disk[BLOCKS_MOST];   /* what each block has on the disk */
    u64 wanted[BLOCKS_MOST]; /* what a program that reads it must get */
    struct spinlock *held[LOCKS_DEEP];
    u32 nheld;
    u64 arena_used;
    u8 stacks[TASKS_MOST][STACK_BYTES] __attribute__((aligned(64)));
    u8 arena[ARENA_BYTES] __attribute__((aligned(64)));
} world;

/* The choice of this step, and how the search learns of it. Not part of a
 * state. */
struct observer {
    /* The configuration, set once. */
    u32 nblocks, nbuffers, depth, ntasks;
    u32 failures, pauses, harts, shortages;
    u32 live; /* 1: the queue gathers writes, as in real time */
    struct op ops[TASKS_MOST][OPS_MOST + 1];
    char args[512];  /* boot arguments: NAME=VALUE between blanks */
    u64 age_most_ns; /* that the update policy promises; 0: nothing */
    /* Of the step that runs. */
    struct task *running; /* NULL: an interrupt, or the search */
    u32 releases;         /* of the last lock, by the task */
    u32 pause_at;         /* pause at this one; 0: never */
    bool leaves_kernel;   /* the task is between two operations */
    void *back[5];        /* where a task that stops returns to */
    sigjmp_buf broken;    /* where a violation leads */
    char what[400];       /* the violation */
    bool tells;           /* notes are printed */
    bool ready;           /* the machine has booted */
    bool refused;         /* it does not boot: the configuration is wrong */
};
extern struct observer *watch; /* set once */

/* Something is wrong: the step ends here. number: of the invariant, or 0. */
void violated(u32 number, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 2, 3)));

/* Note what happens, for the story. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- machine.c ---- */

void machine_boot(void);
const char *arg_unknown(void); /* a boot argument that nothing has asked for */
struct disk *the_disk(void);

/* A step. task_run: until it stops by itself, or at a release of locks. */
void task_run(struct task *, u32 pause_at);
void slot_end(struct slot *, bool fails);
void timer_fire(u32 timer);
bool time_can_pass(u64 *until_ns);
void time_pass(u64 until_ns);

/* Called before and after each step. step_ends reports a violation if memory
 * that a lock guards has changed without the lock. Then it clears times and
 * marks that decide nothing any more. */
void step_begins(void);
void step_ends(void);

/* ---- programs.c ---- */

/* Read a program, as "D0 D1 F"; NULL, or what is wrong with it. */
const char *program_read(u32 task, const char *text);
void program_run(void *);

/* ---- checks.c ---- */

/* Check everything that holds in each state: violated() if it does not. */
void check_state(void);

/* Values that the flush of an owner (0: all) must have on the disk after it. */
void owe_dirty(struct task *, u64 owner);
void check_owed(struct task *, const char *by);

/* ---- state.c ---- */

#define SNAPSHOT_LINE (64 + sizeof(u32)) /* bytes of memory */

struct snapshot {
    u32 n, room;
    u32 *line;
    u8 *bytes;
};

/* These bytes decide nothing: sums and counts for people. */
void state_exclude(const void *start, u64 bytes);
void state_age(u64 oldest_ns); /* older times are all alike */

/* Some words count units of time since the power-on (0: none do), and what is
 * done at a time depends on where in a period of repeats_ns it is. */
void state_calendar(u64 unit_ns, u64 repeats_ns);
/* Make the present state the root. Later states are kept as their differences
 * from it. */
void state_root(void);
u64 state_hash(void); /* equal for states that go on alike */
void state_save(struct snapshot *);
void state_restore(const struct snapshot *);
void state_drop(struct snapshot *);
u64 state_bytes(void), state_live_bytes(void);
void state_changes(void); /* a step begins */

/* Memory at this address cannot be written. True if that was a part of the
 * state that had not been written yet: then it can be now. */
bool state_first_write(const void *at);
void state_print(void); /* each word that the hash counts, and what it means */

/* ---- limits.c ---- */

/* After the boot: what the policies in use promise, and what times can be held
 * against. */
void limits_set(void);

/* ---- covered.c ---- */

void covered_make(void);
void covered_print(void); /* the places that were reached, as addresses */

#endif
