/*
 * The registry of policies, and /dev/policy.
 *
 * - Control is text: "use KIND NAME", "set POLICY.TUNABLE VALUE". A line that
 *   is wrong in any way changes nothing; the reason stays readable as the
 *   last line of /dev/policy.
 * - Two policies of one kind and name end the boot. A kind's default may be
 *   missing (a graded kernel lacks those that a student writes): then the boot
 *   arguments must name another.
 * - One control line is done at a time (control.lock, a sleep lock). Policies
 *   may be asked meanwhile: their owners see to that.
 * - The policies of a kind share one region of memory. It never shrinks, and it
 *   always has what the kind's default needs, which may take over at any time.
 */
#include "kernel/policy/registry.h"
#include "kernel/machine/args.h"
#include "kernel/machine/device.h"
#include "kernel/machine/mem.h"
#include "kernel/proc/sleep.h"
#include "kernel/base/stat.h"
#include "kernel/measure/trace.h"

extern const struct policy *const __start_policies[];
extern const struct policy *const __stop_policies[];

/* The source file of each policy, in the same order. */
extern const char *const __start_policy_files[];

/* Every table that was linked in, with those that are refused. */
#define TABLE_EACH(p)                                      \
    for (const struct policy *const *p = __start_policies; \
         p < __stop_policies; p++)

/* Every policy. A refused table may lack a name, and is never shown. */
#define POLICY_EACH(p) \
    TABLE_EACH (p)     \
        if (!refusal(*p))

/* Every tunable of a policy. */
#define TUNABLE_EACH(t, p) \
    for (struct tunable *t = (p)->tunables; t && t->name; t++)

/* The kinds; the only place in the kernel that names policies. */
static struct {
    const char *name, *def;
    struct policy_owner owner; /* set once, at boot */
    void *memory; /* changed under control.lock; a fault's start reads it */
    u64 memory_bytes;
} kinds[POLICY_KINDS] = {
    [POLICY_UPDATE] = {"update", "pu"},
    [POLICY_WRITE] = {"write", "async"},
    [POLICY_SCHED] = {"sched", "clook"},
    [POLICY_REPLACE] = {"replace", "lru"},
    [POLICY_PREFETCH] = {"prefetch", "none"},
    [POLICY_PLACE] = {"place", "inplace"},
    [POLICY_ORDER] = {"order", "sync"},
};

/* The hooks that a policy of a kind must have. */
#define REQUIRED(KIND, hook)                                            \
    {                                                                   \
        POLICY_##KIND, "it lacks " #hook, offsetof(struct policy, hook) \
    }
static const struct {
    enum policy_kind kind;
    const char *lack; /* the message if it is missing */
    size_t at;        /* of a pointer in struct policy */
} required[] = {
    REQUIRED(UPDATE, update.next_ns),  REQUIRED(UPDATE, update.scan),
    REQUIRED(WRITE, write.decide),     REQUIRED(SCHED, sched.next),
    REQUIRED(REPLACE, replace.insert), REQUIRED(REPLACE, replace.remove),
    REQUIRED(REPLACE, replace.victim), REQUIRED(PREFETCH, prefetch.readahead),
    REQUIRED(ORDER, order.decide),
};

const struct policy *policy_in_use[POLICY_KINDS];

/* The ways to go on after a policy's wrong answer (policy_fault). */
enum after_fault { SWITCH, PANIC, ANSWER };

static struct {
    struct sleeplock lock;
    char last_error[POLICY_LINE_BYTES]; /* lock */
    bool strict;                        /* check=1: policies check themselves */
    enum after_fault after_fault;
} control;

/* Taken inside a disk's lock: two disks may be at fault at the same time. */
static struct spinlock changing = SPINLOCK("policy change", RANK_CHANGE);

COUNTER(faults, "policy.faults", "faults", "wrong answers of policies");
COUNTER(swaps, "policy.swaps", "swaps", "times another policy was put to use");

/* ---- tables ---- */

/* Return why a table is refused, or NULL if it is good. */
static const char *refusal(const struct policy *p)
{
    if (p->kind >= POLICY_KINDS || !p->name || !p->about)
        return "no such kind, or no name, or no description";
    if (p->kind == POLICY_SCHED || p->kind == POLICY_PLACE) {
        if (p->check)
            return "its check is about all disks: it wants the hook check";
        if (p->memory)
            return "its kind has no memory: two are in use during a swap";
    }
    TUNABLE_EACH (t, p)
        if (t->def < t->min || t->def > t->max)
            return "a tunable's default is outside its range";
    for (u32 i = 0; i < NELEM(required); i++) {
        u64 hook;
        memcpy(&hook, (const char *)p + required[i].at, sizeof hook);
        if (required[i].kind == p->kind && !hook)
            return required[i].lack;
    }
    return NULL;
}

/* Return what faults= says. Without it check=1 means panic. */
static enum after_fault after_fault(void)
{
    static const char *const names[] = {"switch", "panic", "answer"};
    const char *name = arg_text("faults");
    if (!name)
        return control.strict ? PANIC : SWITCH;
    for (u32 i = 0; i < NELEM(names); i++)
        if (!strcmp(names[i], name))
            return i;
    boot_fail("faults=%s: want switch, panic or answer", name);
}

/* Stop the boot if two policies of one kind have one name. */
void registry_check(void)
{
    POLICY_EACH (p)
        for (const struct policy *const *q = __start_policies; q < p; q++)
            if ((*p)->kind == (*q)->kind && (*q)->name &&
                !strcmp((*p)->name, (*q)->name) && !refusal(*q))
                boot_fail("two %s policies are called %s, in %s and in %s: "
                          "rename one of them",
                          kinds[(*p)->kind].name, (*p)->name,
                          __start_policy_files[q - __start_policies],
                          __start_policy_files[p - __start_policies]);
}

/* At boot: check all policies, and give the tunables their defaults. */
void registry_init(void)
{
    sleep_lock_init(&control.lock, "policy control");
    control.strict = arg_number("check", 0, 0, 1);
    control.after_fault = after_fault();
    TABLE_EACH (p) {
        const char *why = refusal(*p), *name = (*p)->name;
        if (why) {
            kprintf("policy %s refused: %s\n", name ?: "without a name", why);
            continue;
        }
        TUNABLE_EACH (t, *p)
            t->value = t->def;
    }
}

/* Return the policy of this kind and name, or NULL. */
static const struct policy *find(enum policy_kind kind, const char *name)
{
    POLICY_EACH (p)
        if ((*p)->kind == kind && !strcmp((*p)->name, name))
            return *p;
    return NULL;
}

/* Return why a policy cannot be in use now, or NULL. */
static const char *objection(const struct policy *p)
{
    const struct policy_owner *owner = &kinds[p->kind].owner;
    const char *why = p->refuses ? p->refuses() : NULL;
    return why || !owner->refuses ? why : owner->refuses(p);
}

/* Return how many bytes a policy needs (NULL: none) for its kind's buffers. */
static u64 memory_of(const struct policy *p)
{
    return p && p->memory ? p->memory->bytes(kinds[p->kind].owner.buffers) : 0;
}

/* Make the region of p's kind as large as p needs, and put p to use. The policy
 * that was in use keeps the old region until it has stopped. Return NULL, or
 * why there is not enough memory; then nothing has changed. */
static const char *put_to_use(const struct policy *p)
{
    void *old = kinds[p->kind].memory;
    u64 old_bytes = kinds[p->kind].memory_bytes;
    u64 bytes = MAX(memory_of(p), memory_of(find(p->kind, kinds[p->kind].def)));
    if (bytes > old_bytes) {
        void *more = mem_reserve(bytes);
        if (!more)
            return "it needs more memory in one piece than is left: lower nbuf";
        kinds[p->kind].memory = more;
        kinds[p->kind].memory_bytes = bytes;
    }
    kinds[p->kind].owner.swap(p);
    if (bytes > old_bytes)
        mem_release(old, old_bytes);
    return NULL;
}

/* Give the policy its memory, start it, and put it to use. */
static void start(const struct policy *p)
{
    if (p->memory) {
        p->memory->start = kinds[p->kind].memory;
        p->memory->buffers = kinds[p->kind].owner.buffers;
    }
    if (p->start)
        p->start();
    policy_in_use[p->kind] = p;
}

/* At boot: the owner of a kind puts its policy to use, by the argument or the
 * default. */
void policy_own(enum policy_kind kind, struct policy_owner owner)
{
    const char *name = arg_text(kinds[kind].name) ?: kinds[kind].def;
    const struct policy *p = find(kind, name);
    if (!p)
        boot_fail("%s=%s: there is no such policy", kinds[kind].name, name);
    kinds[kind].owner = owner;
    const char *reason = objection(p) ?: put_to_use(p);
    if (reason)
        boot_fail("%s=%s: %s", kinds[kind].name, p->name, reason);
}

/* Stop the policy in use, and start the other. The owner keeps all questions
 * away meanwhile. */
void policy_switch(const struct policy *to)
{
    const struct policy *from = policy_in_use[to->kind];
    if (from && from->stop)
        from->stop();
    start(to);
}

/* Print a policy's first fault only: a console is too slow for each. */
static void note_first_fault(enum policy_kind kind, const char *what)
{
    static const struct policy *noted[POLICY_KINDS];
    const struct policy *p = policy_in_use[kind];
    if (noted[kind] == p)
        return;
    noted[kind] = p;
    kprintf("policy fault: %s/%s: %s; the kernel answers instead\n",
            kinds[kind].name, p->name, what);
}

/* The policy in use has answered wrongly: print and count it. Return what is to
 * take over, or NULL to go on with it. */
const struct policy *policy_fault(enum policy_kind kind, u32 disk, u64 about,
                                  const char *what)
{
    const struct policy *p = policy_in_use[kind];
    const struct policy *def = find(kind, kinds[kind].def);
    count(&faults, 1);
    trace(TRACE_fault, disk, about, 0, kind);
    if (control.after_fault == ANSWER) {
        note_first_fault(kind, what);
        return NULL;
    }
    if (control.after_fault == PANIC || p == def || !def)
        panic("policy fault: %s/%s: %s", kinds[kind].name, p->name, what);
    kprintf("policy fault: %s/%s: %s; going on with %s\n", kinds[kind].name,
            p->name, what, def->name);
    return def;
}

/* Start a policy whose disks change over one by one. Return the one before. */
const struct policy *policy_begin(const struct policy *to)
{
    HOLD(spin, &changing);
    const struct policy *from = policy_in_use[to->kind];
    if (from != to)
        start(to);
    return from;
}

/* A disk's policy has answered wrongly. True if another one is in use now, to
 * which the disk goes over. */
bool policy_take_over(const struct policy *wrong, u32 disk, u64 about,
                      const char *what)
{
    HOLD(spin, &changing);
    if (wrong != policy_in_use[wrong->kind])
        return true;
    const struct policy *to = policy_fault(wrong->kind, disk, about, what);
    if (to)
        start(to);
    return to;
}

/* Panic if a policy's check has found something wrong. */
static void stop_if(const struct policy *p, const char *wrong)
{
    if (wrong)
        panic("policy check: %s/%s: %s", kinds[p->kind].name, p->name, wrong);
}

/* Under check=1, have the policy check its own state. */
void policy_check(const struct policy *p)
{
    stop_if(p, control.strict && p->check ? p->check() : NULL);
}

/* Under check=1, have the policy check what it keeps of this queue. */
void policy_check_disk(const struct policy *p, const struct queue *q)
{
    const char *(*check)(const struct queue *) =
        p->kind == POLICY_SCHED ? p->sched.check : p->place.check;
    stop_if(p, control.strict && check ? check(q) : NULL);
}

/* ---- control ---- */

/* Cut the next word off *line; NULL if there is none. */
static char *next_word(char **line)
{
    char *word = *line;
    while (*word == ' ')
        word++;
    char *end = word;
    while (*end && *end != ' ')
        end++;
    *line = *end ? end + 1 : end;
    *end = 0;
    return *word ? word : NULL;
}

/* Say why a control line is wrong. */
static int __attribute__((format(printf, 2, 3)))
refuse(char *why, const char *fmt, ...)
{
    va_list list;
    va_start(list, fmt);
    kvsnprintf(why, POLICY_LINE_BYTES, fmt, list);
    va_end(list);
    return -EINVAL;
}

/* Put a policy to use. Return 0, or an error with the reason in `why`. */
static int use(const char *kind_name, const char *name, char *why)
{
    for (u32 kind = 0; kind < POLICY_KINDS; kind++) {
        if (strcmp(kinds[kind].name, kind_name))
            continue;
        const struct policy *p = find(kind, name);
        if (!p)
            return refuse(why, "no %s policy \"%s\"", kind_name, name);
        bool same = p == policy_in_use[kind];
        const char *reason = objection(p) ?: same ? NULL : put_to_use(p);
        if (reason)
            return refuse(why, "%s/%s: %s", kind_name, name, reason);
        count(&swaps, !same);
        return 0;
    }
    return refuse(why, "no kind of policy \"%s\"", kind_name);
}

/* True if text is POLICY.TUNABLE or KIND/POLICY.TUNABLE of this row. */
static bool names_row(const char *text, const struct policy *p,
                      const struct tunable *t)
{
    char full[POLICY_LINE_BYTES];
    int kind = ksnprintf(full, sizeof full, "%s/", kinds[p->kind].name);
    ksnprintf(full + kind, sizeof full - kind, "%s.%s", p->name, t->name);
    return !strcmp(text, full) || !strcmp(text, full + kind);
}

/* Count the rows of this name; *last is the last of them, *of its policy. */
static u32 rows_named(const char *name, struct tunable **last,
                      const struct policy **of)
{
    u32 rows = 0;
    POLICY_EACH (p)
        TUNABLE_EACH (t, *p)
            if (names_row(name, *p, t)) {
                *last = t;
                *of = *p;
                rows++;
            }
    return rows;
}

/* Set a tunable to a value of its range. A policy in use may refuse a value
 * that contradicts its other tunables. */
static int put(const struct policy *p, struct tunable *t, u64 value, char *why)
{
    u64 old = t->value;
    bool in_use = policy_in_use[p->kind] == p;
    t->value = value;
    const char *reason = in_use ? objection(p) : NULL;
    if (reason) {
        t->value = old;
        return refuse(why, "%s.%s = %lu: %s", p->name, t->name, value, reason);
    }
    if (in_use && kinds[p->kind].owner.tuned)
        kinds[p->kind].owner.tuned();
    return 0;
}

/* Set a tunable. Return 0, or an error with the reason in `why`. */
static int set(const char *name, const char *value_text, char *why)
{
    struct tunable *found;
    const struct policy *of;
    u64 value;
    u32 rows = rows_named(name, &found, &of);
    if (!rows)
        return refuse(why, "no tunable \"%s\"", name);
    if (rows > 1)
        return refuse(why, "\"%s\" is ambiguous: say KIND/NAME.TUNABLE", name);
    if (!parse_u64(value_text, &value))
        return refuse(why, "%s: \"%s\" is not a number", name, value_text);
    if (value < found->min || value > found->max)
        return refuse(why, "%s: %lu is not in %lu to %lu %s", name, value,
                      found->min, found->max, found->unit);
    return put(of, found, value, why);
}

/* Carry out one line of control. Return 0, or an error with the reason in
 * `why`. */
int policy_control(const char *line, char *why)
{
    char copy[POLICY_LINE_BYTES], *rest = copy;
    if (strlcpy(copy, line, sizeof copy) >= sizeof copy)
        return refuse(why, "line too long");
    char *verb = next_word(&rest), *object = next_word(&rest),
         *value = next_word(&rest);
    if (value && !next_word(&rest) && !strcmp(verb, "use"))
        return use(object, value, why);
    if (value && !next_word(&rest) && !strcmp(verb, "set"))
        return set(object, value, why);
    return refuse(why, "want \"use KIND NAME\" or \"set POLICY.TUNABLE N\"");
}

/* For args_each: set the tunable that the argument names. False: there is
 * none. */
static bool boot_tunable(const char *name, const char *value)
{
    char why[POLICY_LINE_BYTES];
    struct tunable *t;
    const struct policy *p;
    if (!rows_named(name, &t, &p))
        return false;
    if (set(name, value, why))
        boot_fail("%s", why);
    return true;
}

void policy_boot_args(void)
{
    args_each(boot_tunable);
}

/* ---- /dev/policy ---- */

/* Print the names of each kind's policies. That in use is in brackets. */
static void print_policies(struct text *t)
{
    for (u32 kind = 0; kind < POLICY_KINDS; kind++) {
        text_printf(t, "%s:", kinds[kind].name);
        POLICY_EACH (p)
            if ((*p)->kind == kind)
                text_printf(t, *p == policy_in_use[kind] ? " [%s]" : " %s",
                            (*p)->name);
        text_printf(t, "\n");
    }
}

static void print_policy(struct text *t)
{
    HOLD(sleep, &control.lock);
    print_policies(t);
    POLICY_EACH (p)
        text_printf(t, "%s/%s: %s\n", kinds[(*p)->kind].name, (*p)->name,
                    (*p)->about);
    POLICY_EACH (p)
        TUNABLE_EACH (row, *p)
            text_printf(t, "%s.%s = %lu %s (%lu to %lu): %s\n", (*p)->name,
                        row->name, row->value, row->unit, row->min, row->max,
                        row->about);
    if (control.last_error[0])
        text_printf(t, "last error: %s\n", control.last_error);
}

static int control_line(const char *line)
{
    HOLD(sleep, &control.lock);
    control.last_error[0] = 0;
    return policy_control(line, control.last_error);
}

static const struct device policy_device = {
    .id = 6, .name = "policy", .print = print_policy, .control = control_line};
DEVICE(policy_device);

/* The policies' own counters, in /dev/stat. */
static void print_counters(struct text *t)
{
    POLICY_EACH (p)
        for (const struct policy_counter *c = (*p)->counters; c && c->name; c++)
            text_printf(t, "%s.%s %lu %s\n", (*p)->name, c->name, c->value,
                        c->unit);
}

STAT_SOURCE(print_counters);
