/*
 * The registry of policies: finds them (the linker gathered them), checks
 * their tables, knows the one in use of each kind, and swaps.
 *
 * - The layer that asks a kind's questions owns the kind: it gives the registry
 *   a struct policy_owner, whose functions the registry calls.
 * - A table that lacks a required hook or has a default outside its range is
 *   refused at boot, with a message, and is not listed.
 */
#pragma once

#include "kernel/policy/policy.h"

/* The policy in use of each kind; written by the kind's owner alone. */
extern const struct policy *policy_in_use[POLICY_KINDS];

/* The functions of a kind's owner, which the registry calls. */
struct policy_owner {
    /* (required) Keep questions away from the policy in use (NULL at boot),
     * start `to`, hand it what exists, and make it the policy in use. No lock
     * held; may sleep. */
    void (*swap)(const struct policy *to);
    /* (optional) A tunable of the policy in use has been set: ask the policy
     * its questions again. No spin lock held; may sleep. */
    void (*tuned)(void);
    /* (optional) Why the policy cannot be put to use now, or NULL. */
    const char *(*refuses)(const struct policy *to);
    u64 buffers; /* of the cache, if the owner knows: sizes policies' memory */
};

/* Stop the policy in use of `to`'s kind, start `to`, and put it to use: the
 * step that all swaps share. The owner keeps questions away meanwhile. */
void policy_switch(const struct policy *to);

/* Read the section, check the tables. Before any layer asks for a policy. */
void registry_check(void); /* no two policies of a kind have one name */
void registry_init(void);

/* Give this kind to a layer. The layer gets at once the policy that the boot
 * argument names (as update=pu), else the kind's default. A policy that is
 * refused, or for which there is not enough memory, ends the boot. */
void policy_own(enum policy_kind, struct policy_owner);

/*
 * The policy in use has answered a question about this sector or block wrongly:
 * counts, traces and prints it. What follows is chosen at boot by faults=.
 *
 * - switch: returns the default, which the caller, holding the lock of the
 *   kind, must swap to by itself; a panic if the default is at fault.
 * - panic: a panic. So it is under check=1, unless faults= says otherwise.
 * - answer: returns NULL, and the policy stays in use. This once the caller
 *   answers by itself, as plainly as it can. Only a policy's first fault is
 *   printed; the trace has all.
 */
const struct policy *policy_fault(enum policy_kind, u32 disk, u64 about,
                                  const char *what);

/*
 * The two steps for a kind of which each disk changes over by itself, to what
 * is in use by then. Each is done by one hart at a time.
 *
 * - policy_begin: a swap; starts `to` and puts it to use. Returns the policy
 *   that was; `to` itself if a fault has put it to use already.
 * - policy_take_over: policy_fault of the disk's policy, which starts the
 *   default. Nothing, if another disk's fault or a swap came first. False: the
 *   policy stays.
 */
const struct policy *policy_begin(const struct policy *to);
bool policy_take_over(const struct policy *wrong, u32 disk, u64 about,
                      const char *what);

/* Under check=1, panics if the policy finds its own records wrong. The layer
 * calls it after each question, with the lock of the kind. */
void policy_check(const struct policy *);

/* Check what the policy keeps of a disk, whose lock is held. */
void policy_check_disk(const struct policy *, const struct queue *);

#define POLICY_LINE_BYTES 128 /* most of a control line, and of a reason */

/* One control line, "use KIND NAME" or "set POLICY.TUNABLE VALUE". 0, or
 * -EINVAL with the reason in why[POLICY_LINE_BYTES]; then nothing has changed.
 * May sleep. */
int policy_control(const char *line, char *why);

/* Boot arguments policy.tunable=value; call before any kind is owned, so that
 * its policy starts with them. */
void policy_boot_args(void);
