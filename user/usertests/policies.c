/* /dev/policy: swapping policies under load, setting tunables. */
#include "user/usertests/usertests.h"

enum { TEXT_SIZE = 32768 }; /* more than the text of /dev/policy */

static i64 control(const char *line)
{
    int fd = OK(open("/dev/policy", O_WRONLY));
    i64 n = write(fd, line, strlen(line));
    int error = errno;
    close(fd);
    errno = error;
    return n;
}

/* True if the last control line was refused for this reason. */
static bool refused_for(const char *why)
{
    static char text[TEXT_SIZE];
    read_device("/dev/policy", text, sizeof text);
    char *error = strstr(text, "last error");
    return error && strstr(error, why);
}

/* Put a policy to use, unless the machine lacks what it needs. */
static void use(const char *kind, const char *name)
{
    char line[100];
    snprintf(line, sizeof line, "use %s %s\n", kind, name);
    if (control(line) != (i64)strlen(line))
        TRUE(refused_for("no disk has a drive model") ||
             refused_for("has no journal") || refused_for("needs 64 buffers"));
}

/* For each kind, use each policy in turn, then the policy that was in use
 * before. /dev/policy has a row for each kind, and then rows of the policies,
 * KIND/NAME: ..., which are not read. */
static void use_every_policy(void)
{
    static char text[TEXT_SIZE];
    char used[100];
    read_device("/dev/policy", text, sizeof text);
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        char *kind = strsep(&line, ":");
        if (!line || kind[strcspn(kind, " /")])
            return;
        strlcpy(used, strchr(line, '[') + 1, sizeof used);
        *strchr(used, ']') = 0;
        for (char *name; (name = strsep(&line, " []"));)
            if (*name)
                use(kind, name);
        use(kind, used);
    }
}

TEST(policies_are_swapped_under_load_without_loss)
{
    int pids[4], status;
    SPAWN_ALL(pids, makes_and_removes, 10);
    for (u32 i = 0; i < NELEM(pids); i++) {
        while (OK(wait(pids[i], &status, WNOHANG)) == 0)
            use_every_policy();
        IS(status, 0);
    }
}

/* Read /dev/policy without the last error. */
static void read_policies(char *to, u64 n)
{
    read_device("/dev/policy", to, n);
    char *error = strstr(to, "last error");
    if (error)
        *error = 0;
}

TEST(a_wrong_control_line_changes_nothing)
{
    static char before[TEXT_SIZE], after[TEXT_SIZE];
    const char *lines[] = {"use",
                           "use sched",
                           "use sched nosuch",
                           "use nosuch fcfs",
                           "use sched fcfs clook",
                           "USE sched fcfs",
                           "set",
                           "set pu.nosuch 1",
                           "set pu.interval_ms",
                           "set pu.interval_ms abc",
                           "set pu.interval_ms -1",
                           "set pu.interval_ms 99999999999999999999",
                           " ",
                           "\n",
                           buf};
    memset(buf, 'u', 1000);
    buf[1000] = 0;
    read_policies(before, sizeof before);
    for (u32 i = 0; i < NELEM(lines); i++) {
        FAILS(EINVAL, control(lines[i]));
        read_policies(after, sizeof after);
        IS(strcmp(before, after), 0);
    }
}

/* True if a row of /dev/policy is a tunable: NAME = VALUE UNIT (MIN to MAX). */
static bool parse_tunable(char *line, char **name, u64 value[3])
{
    *name = strsep(&line, " ");
    if (!line || strncmp(line, "= ", 2))
        return false;
    value[0] = strtoul(line + 2, &line, 10);
    line = strchr(line, '(');
    value[1] = strtoul(line + 1, &line, 10);
    value[2] = strtoul(line + strlen(" to "), &line, 10);
    return *line == ')';
}

static i64 set_tunable(const char *name, u64 value)
{
    char line[100];
    snprintf(line, sizeof line, "set %s %lu", name, value);
    return control(line);
}

TEST(a_tunable_takes_the_values_of_its_range)
{
    static char text[TEXT_SIZE];
    char *name;
    u64 value[3];
    read_device("/dev/policy", text, sizeof text);
    for (char *line, *rest = text; (line = strsep(&rest, "\n"));) {
        if (!parse_tunable(line, &name, value))
            continue;
        OK(set_tunable(name, value[1]));
        OK(set_tunable(name, value[2]));
        if (value[1] > 0)
            FAILS(EINVAL, set_tunable(name, value[1] - 1));
        if (value[2] < ~0UL)
            FAILS(EINVAL, set_tunable(name, value[2] + 1));
        OK(set_tunable(name, value[0]));
    }
}
