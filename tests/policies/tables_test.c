/*
 * What holds for the table of every policy, whatever its kind.
 *
 * link: tests/support/native/test.c
 */
#include "tests/support/native/test.h"

static bool is_word(const char *s)
{
    return s && *s &&
           strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(s);
}

TEST(names_are_words_and_each_has_a_line_about_it)
{
    POLICY_EACH (p) {
        check(is_word((*p)->name));
        check((*p)->about && *(*p)->about && !strchr((*p)->about, '\n'));
        check((*p)->kind < POLICY_KINDS);
    }
}

TEST(no_two_policies_of_a_kind_share_a_name)
{
    POLICY_EACH (p)
        POLICY_EACH (q)
            check(p == q || (*p)->kind != (*q)->kind ||
                  strcmp((*p)->name, (*q)->name) != 0);
}

TEST(defaults_lie_in_their_ranges_and_every_row_has_words_and_a_unit)
{
    POLICY_EACH (p) {
        for (struct tunable *t = (*p)->tunables; t && t->name; t++) {
            check(is_word(t->name) && t->unit && *t->unit);
            check(t->about && *t->about);
            check(t->min <= t->def && t->def <= t->max);
        }
        for (struct policy_counter *c = (*p)->counters; c && c->name; c++)
            check(is_word(c->name) && c->unit && *c->unit && c->about);
    }
}

TEST(every_required_hook_is_there)
{
    POLICY_EACH (p)
        switch ((*p)->kind) {
        case POLICY_UPDATE:
            check((*p)->update.next_ns && (*p)->update.scan);
            break;
        case POLICY_WRITE:
            check((*p)->write.decide);
            break;
        case POLICY_SCHED:
            check((*p)->sched.next);
            break;
        case POLICY_REPLACE:
            check((*p)->replace.insert && (*p)->replace.remove);
            check((*p)->replace.victim);
            break;
        case POLICY_PREFETCH:
            check((*p)->prefetch.readahead);
            break;
        case POLICY_PLACE:
            break;
        case POLICY_ORDER:
            check((*p)->order.decide);
            break;
        default:
            check(!"a kind");
        }
}

TEST(there_is_a_policy_of_every_kind)
{
    for (u32 kind = 0; kind < POLICY_KINDS; kind++) {
        u32 n = 0;
        POLICY_EACH (p)
            n += (*p)->kind == kind;
        check(n > 0);
    }
}
