/*
 * The model of the cache (cache_model.h), and the functions of the kernel that
 * policies call. Buffers are taken in turn and kept, so a block has the same
 * buffer for ever; the dirty ones are in the list by_age, too. A flush collects
 * the blocks that are to be written in a list `due`, then writes them all.
 */
#include "tests/support/native/cache_model.h"

#include <stdarg.h>

#define BLOCKS       4096
#define LOG_BYTES    (1 << 16)
#define LOOKS_AT_ONE 1000 /* more at one time are without end */

struct buffer {
    struct block block;
    struct list by_age, pending;
    u64 tried; /* the number of the last scan that wrote it */
};

struct cache_model model;

static struct buffer buffers[BLOCKS];
static u64 used;
static struct list by_age; /* all that are dirty, the oldest first */
static const struct policy *update, *write;
/* With look_at blocks dirty the daemon scans at once; last_ns is its last scan,
 * wake_ns its next, second_ns the next call of each_second. */
static u64 look_at, scan_number, last_ns, wake_ns, second_ns;
static bool at_once, looking;
static char log_text[LOG_BYTES];
static u64 log_bytes, log_ns;

/* Stop the policy in the slot, and start that of this name there. */
static void start(const struct policy **slot, enum policy_kind kind,
                  const char *name)
{
    if (*slot && (*slot)->stop)
        (*slot)->stop();
    cache_buffers = model.now.buffers;
    *slot = policy_named(kind, name);
}

const struct policy *model_start(const char *name)
{
    memset(buffers, 0, sizeof buffers);
    used = scan_number = last_ns = second_ns = log_bytes = 0;
    at_once = looking = false;
    log_ns = NEVER_NS;
    list_init(&by_age);
    model = (struct cache_model){
        .bad_blkno = UNLIMITED, .now.buffers = 1000, .disks = 1};
    model_use_write("delayed");
    return model_use_update(name);
}

/* ---- the record of writes ---- */

/* Append to the record. If it does not fit, only check_writes_at fails. */
static void log_print(const char *fmt, ...)
{
    va_list args;
    if (log_bytes >= LOG_BYTES)
        return;
    va_start(args, fmt);
    log_bytes +=
        vsnprintf(log_text + log_bytes, LOG_BYTES - log_bytes, fmt, args);
    va_end(args);
}

/* Record a write at the time now. */
static void log_write(u64 blkno, bool failed)
{
    if (log_ns != model.now_ns) {
        log_print("%s%lu", log_bytes ? "; " : "", model.now_ns / NS_PER_MS);
        if (model.now_ns % NS_PER_MS)
            log_print(".%06lu", model.now_ns % NS_PER_MS);
        log_print(":");
    }
    log_ns = model.now_ns;
    log_print(" %lu%s", blkno, failed ? "!" : "");
}

/* Expect these writes since the last check, and empty the record. */
void check_writes_at(const char *want, const char *file, u32 line)
{
    check(log_bytes < LOG_BYTES);
    log_text[log_bytes] = 0;
    if (strcmp(log_text, want) != 0) {
        printf("%s:%u: expected the writes\n  %s\ngot\n  %s\n", file, line,
               want, log_text);
        exit(1);
    }
    log_bytes = 0;
    log_ns = NEVER_NS;
}

/* ---- dirty blocks ---- */

/* The buffer of a block; a block that has none gets the next. */
static struct buffer *buffer_of(u64 blkno)
{
    for (u64 i = 0; i < used; i++) {
        if (buffers[i].block.blkno == blkno)
            return &buffers[i];
    }
    check(used < BLOCKS);
    buffers[used].block.blkno = blkno;
    return &buffers[used++];
}

/* The policies' records must be right, except during a scan. */
static void check_policies(void)
{
    const struct policy *policies[] = {update, write};
    for (u32 i = 0; i < 2 && !looking; i++) {
        const char *why = policies[i]->check ? (policies[i]->check)() : NULL;
        if (why)
            printf("%s: %s\n", policies[i]->name, why);
        check(!why);
    }
}

/* Tell the update policy of a dirty block. With look_at of them it scans at
 * once. */
static void tell_update(struct block *b)
{
    b->mark = 0;
    if (update->update.dirtied)
        update->update.dirtied(b, model.now_ns);
    if (model.now.dirty < look_at)
        return;
    look_at = UNLIMITED;
    at_once = true;
}

/* Put a block on by_age, which is in the order of dirtied_ns: a block whose
 * write failed keeps its old time. */
static void become_dirty(struct buffer *b)
{
    struct list *at = &by_age;
    while (at->prev != &by_age &&
           LIST_ITEM(at->prev, struct buffer, by_age)->block.dirtied_ns >
               b->block.dirtied_ns)
        at = at->prev;
    list_insert_before(at, &b->by_age);
    model.now.dirty++;
    tell_update(&b->block);
    check_policies();
}

/* Set whether a block is held back, and count it. */
static void set_held_back(struct buffer *b, bool held_back)
{
    model.now.held_back += held_back - b->block.held_back;
    b->block.held_back = held_back;
}

/* Take a block off by_age, since it is written or dropped. */
static void leave(struct buffer *b)
{
    if (update->update.leaves)
        update->update.leaves(&b->block);
    list_remove(&b->by_age);
    if (list_on(&b->pending))
        list_remove(&b->pending);
    set_held_back(b, false);
    model.now.dirty--;
}

/* Write a block. One that fails stays dirty, with its old time. */
static void write_out(struct buffer *b)
{
    bool failed = b->block.blkno == model.bad_blkno;
    if (b->block.dirtied_ns)
        leave(b);
    b->tried = scan_number;
    log_write(b->block.blkno, failed);
    model.now.written++;
    if (!failed) {
        b->block.dirtied_ns = 0;
        return;
    }
    if (!b->block.dirtied_ns)
        b->block.dirtied_ns = model.now_ns;
    become_dirty(b);
}

/* Change a block; a clean one becomes dirty. */
static struct block *modify(u64 blkno, u64 owner, bool meta, bool held_back)
{
    struct buffer *b = buffer_of(blkno);
    check(model.now_ns > 0); /* dirtied_ns 0 means clean */
    b->block.owner = owner;
    b->block.meta = meta;
    set_held_back(b, held_back);
    if (b->block.dirtied_ns)
        return &b->block;
    b->block.dirtied_ns = model.now_ns;
    model.now.dirtied++;
    become_dirty(b);
    return &b->block;
}

struct block *dirty(u64 blkno)
{
    return modify(blkno, 1, false, false);
}

struct block *dirty_file(u64 blkno, u64 owner)
{
    return modify(blkno, owner, false, false);
}

struct block *dirty_map(u64 blkno, u64 owner)
{
    return modify(blkno, owner, true, false);
}

struct block *dirty_meta(u64 blkno)
{
    return modify(blkno, 0, true, false);
}

void drop(u64 blkno)
{
    struct buffer *b = buffer_of(blkno);
    check(b->block.dirtied_ns);
    leave(b);
    b->block.dirtied_ns = 0;
}

void read_block(u64 blkno, bool hit)
{
    if (hit)
        model.now.hits++;
    else
        model.now.misses++;
    if (update->update.wanted)
        update->update.wanted(&buffer_of(blkno)->block, hit);
}

/* ---- the calls of update.h ---- */

void cache_state(struct cache_state *s)
{
    *s = model.now;
}

bool disk_state(u32 disk, struct disk_state *s)
{
    if (disk >= model.disks)
        return false;
    *s = disk ? model.others[disk - 1] : model.queue;
    return true;
}

void scan_at_dirty(u64 n)
{
    look_at = n;
}

u64 oldest_dirty_ns(void)
{
    struct list *first = list_first(&by_age);
    return first ? LIST_ITEM(first, struct buffer, by_age)->block.dirtied_ns
                 : NEVER_NS;
}

/* Add a block to `due` if it is dirty and this scan has not written it; returns
 * how many that is. */
static u64 make_due(struct buffer *b, struct list *due)
{
    if (!b->block.dirtied_ns || list_on(&b->pending) || b->tried == scan_number)
        return 0;
    list_push_back(due, &b->pending);
    return 1;
}

/* Write the blocks of `due`; returns how many. */
static u64 write_due(struct list *due)
{
    u64 n = 0;
    for (struct list *first; (first = list_first(due)); n++)
        write_out(LIST_ITEM(first, struct buffer, pending));
    return n;
}

typedef enum visit visit_fn(struct block *, u64 now_ns);

/* Show a block to the policy, and make it due if that says so; false: the flush
 * is over. */
static bool show(struct buffer *b, visit_fn *visit, struct list *due)
{
    model.scanned++;
    enum visit answer = visit(&b->block, model.now_ns);
    bool flush = answer == FLUSH || answer == FLUSH_LAST;
    bool made = flush && make_due(b, due);
    return answer != STOP && !(answer == FLUSH_LAST && made);
}

u64 flush_by_age(visit_fn *visit)
{
    struct list due;
    list_init(&due);
    LIST_EACH (n, &by_age) {
        if (!show(LIST_ITEM(n, struct buffer, by_age), visit, &due))
            break;
    }
    return write_due(&due);
}

u64 flush_in_cache(u64 first, u64 n, visit_fn *visit)
{
    struct list due;
    list_init(&due);
    for (u64 i = first; i < used && i - first < n; i++) {
        if (!show(&buffers[i], visit, &due))
            break;
    }
    return write_due(&due);
}

/* Write the oldest `most` blocks that are this old. */
static u64 flush_first(u64 most, u64 age_ns)
{
    struct list due;
    u64 count = 0;
    list_init(&due);
    LIST_EACH (n, &by_age) {
        struct buffer *b = LIST_ITEM(n, struct buffer, by_age);
        if (count >= most)
            break;
        model.scanned++;
        if (b->block.dirtied_ns + age_ns > model.now_ns)
            break;
        count += make_due(b, &due);
    }
    return write_due(&due);
}

u64 flush_all(void)
{
    return flush_first(UNLIMITED, 0);
}

u64 flush_older(u64 age_ns)
{
    return flush_first(NEVER_NS, age_ns);
}

u64 flush_oldest(u64 n)
{
    return flush_first(n, 0);
}

/* Make all dirty blocks of a file due. */
static void make_owner_due(u64 owner, struct list *due)
{
    for (u64 i = 0; i < used; i++) {
        if (buffers[i].block.owner == owner)
            make_due(&buffers[i], due);
    }
}

u64 flush_files(struct list *blocks)
{
    struct list due;
    list_init(&due);
    LIST_EACH (n, blocks) {
        struct block *b = LIST_ITEM(n, struct block, owing);
        if (make_due(CONTAINER(b, struct buffer, block), &due) && b->owner)
            make_owner_due(b->owner, &due);
    }
    return write_due(&due);
}

/* ---- the update daemon ---- */

/* Scan if it is time, or `now`. */
static void look_if_due(bool now)
{
    wake_ns = update->update.next_ns(last_ns);
    if (wake_ns > model.now_ns && !now)
        return;
    scan_number++;
    model.looks++;
    last_ns = model.now_ns;
    looking = true;
    update->update.scan(model.now_ns);
    looking = false;
    check_policies();
    wake_ns = update->update.next_ns(last_ns);
}

/* Call the write policy's hook each_second, if a second has passed. */
static void each_second(void)
{
    if (!write->write.each_second || model.now_ns < second_ns)
        return;
    scan_number++;
    second_ns = model.now_ns + NS_PER_S;
    looking = true;
    write->write.each_second(model.now_ns);
    looking = false;
    check_policies();
}

/* When the daemon wakes next. */
static u64 next_wake_ns(void)
{
    u64 ns = write->write.each_second ? MIN(wake_ns, second_ns) : wake_ns;
    return at_once ? model.now_ns : MAX(ns, model.now_ns);
}

/* Let the daemon wake and scan at its times up to then. */
void run_to_ms(u64 ms)
{
    u32 looks = 0;
    check(ms * NS_PER_MS >= model.now_ns);
    for (u64 ns; (ns = next_wake_ns()) <= ms * NS_PER_MS;) {
        looks = ns == model.now_ns ? looks + 1 : 0;
        check(looks <= LOOKS_AT_ONE);
        model.now_ns = ns;
        bool now = at_once;
        at_once = false;
        look_if_due(now);
        each_second();
    }
    model.now_ns = ms * NS_PER_MS;
}

void stall_to_ms(u64 ms)
{
    check(ms * NS_PER_MS >= model.now_ns);
    model.now_ns = ms * NS_PER_MS;
}

/* ---- policies ---- */

const struct policy *model_use_update(const char *name)
{
    look_at = UNLIMITED;
    start(&update, POLICY_UPDATE, name);
    LIST_EACH (n, &by_age)
        tell_update(&LIST_ITEM(n, struct buffer, by_age)->block);
    check_policies();
    wake_ns = update->update.next_ns(last_ns);
    return update;
}

const struct policy *model_use_write(const char *name)
{
    start(&write, POLICY_WRITE, name);
    return write;
}

/* Set a tunable within its bounds; the daemon asks again when the next scan
 * is. */
static void set(const struct policy *p, const char *name, u64 value)
{
    struct tunable *t = tunable_named(p, name);
    check(t->min <= value && value <= t->max);
    t->value = value;
    wake_ns = update->update.next_ns(last_ns);
}

void tune(const char *tunable, u64 value)
{
    set(update, tunable, value);
}

void tune_write(const char *tunable, u64 value)
{
    set(write, tunable, value);
}

u64 counter(const char *name)
{
    return counter_of(update, name);
}

u64 counter_write(const char *name)
{
    return counter_of(write, name);
}

/* ---- writers ---- */

/* Write the oldest blocks while there are more dirty than the write policy
 * allows. */
static void throttle(void)
{
    if (!write->write.most_dirty)
        return;
    while (model.now.dirty > write->write.most_dirty(model.now.buffers)) {
        u64 n = MAX(1, MIN(model.now.dirty, model.now.buffers / 16));
        if (write->write.no_clean)
            n = write->write.no_clean(model.now.dirty, model.now.buffers);
        scan_number++;
        check(n >= 1 && n <= model.now.dirty && flush_oldest(n));
    }
}

/* Ask the write policy about file data, and do what it says. */
enum write_mode write_data(u64 blkno, bool filled)
{
    const struct write_info w = {.blkno = blkno,
                                 .program = true,
                                 .filled = filled,
                                 .dirty = model.now.dirty,
                                 .buffers = model.now.buffers,
                                 .queued = model.queue.queued_reads +
                                           model.queue.queued_writes,
                                 .now_ns = model.now_ns};
    enum write_mode mode = write->write.decide(&w);
    check_policies();
    if (mode == WRITE_DELAYED || mode == WRITE_HELD_BACK) {
        modify(blkno, 1, false, mode == WRITE_HELD_BACK);
        throttle();
    } else {
        write_out(buffer_of(blkno));
    }
    return mode;
}

/* ---- scripts ---- */

/* Verbs that set a number of the model, and verbs that check one. */
static const struct {
    const char *verb;
    u64 *number;
} settings[] =
    {
        {"buffers", &model.now.buffers},
        {"writing", &model.now.writing},
        {"bad", &model.bad_blkno},
        {"reads", &model.queue.queued_reads},
        {"writes", &model.queue.queued_writes},
        {"busy", &model.queue.in_flight},
},
  totals[] = {
      {"dirty_now", &model.now.dirty},
      {"written_now", &model.now.written},
      {"looks_now", &model.looks},
};

/* Do a verb that changes or reads a block. */
static void change_block(const char *verb, u64 blkno, u64 owner)
{
    if (strcmp(verb, "dirty") == 0)
        dirty(blkno);
    else if (strcmp(verb, "file") == 0)
        dirty_file(blkno, owner);
    else if (strcmp(verb, "map") == 0)
        dirty_map(blkno, owner);
    else if (strcmp(verb, "meta") == 0)
        dirty_meta(blkno);
    else if (strcmp(verb, "drop") == 0)
        drop(blkno);
    else
        read_block(blkno, strcmp(verb, "hit") == 0);
}

/* A counter, or the difference of two: "ticks-empty_ticks". */
static u64 counters(const char *verb)
{
    char first[40];
    const char *minus = strchr(verb, '-');
    if (!minus)
        return counter(verb);
    snprintf(first, sizeof first, "%.*s", (int)(minus - verb), verb);
    return counter(first) - counter(minus + 1);
}

/* Do a verb for one of its words. */
static void do_in_model(const char *verb, const char *word)
{
    static const char changes[] = " dirty file map meta drop hit miss ";
    char text[60], of[40];
    snprintf(text, sizeof text, " %s ", verb);
    if (strstr(changes, text)) {
        const char *owner = strchr(word, '/');
        snprintf(of, sizeof of, "%.*s", (int)strcspn(word, "/"), word);
        struct range r = range_of(of);
        for (u64 b = r.first; b <= r.last; b++)
            change_block(verb, b, owner ? range_of(owner + 1).first : 0);
    } else if (strcmp(verb, "set") == 0) {
        tune(name_in(word), value_in(word));
    } else if (strcmp(verb, "use") == 0) {
        model_use_update(word);
    } else if (strcmp(verb, "restart") == 0) {
        model_start(word);
    } else if (strcmp(verb, "at") == 0) {
        run_to_ms(range_of(word).first);
    } else {
        u64 number = range_of(word).first;
        for (u32 i = 0; i < NELEM(settings); i++) {
            if (strcmp(verb, settings[i].verb) == 0) {
                *settings[i].number = number;
                return;
            }
        }
        for (u32 i = 0; i < NELEM(totals); i++) {
            if (strcmp(verb, totals[i].verb) == 0) {
                check_eq(*totals[i].number, number);
                return;
            }
        }
        check_eq(counters(verb), number);
    }
}

/* Do a step: `wrote` takes all its words at once, each other verb one by one.
 */
static void do_step(const char *verb, const char *words)
{
    char want[LOG_BYTES / 16];
    if (strcmp(verb, "wrote") != 0) {
        script_words(verb, words, do_in_model);
        return;
    }
    check(strlen(words) < sizeof want);
    strcpy(want, words);
    for (char *c = want; *c; c++)
        *c = *c == ',' ? ';' : *c;
    check_writes(want);
}

void model_script(const char *update_policy, const char *steps)
{
    model_start(update_policy);
    script_run_steps(steps, do_step);
}
