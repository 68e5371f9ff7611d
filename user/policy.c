/* policy: lists the policies and their tunables; changes them by
 *   policy use sched clook
 *   policy set pu.interval_ms 1000
 * A change that the kernel refuses changes nothing: its reason is shown. */
#include "user/lib.h"

static const char device[] = "/dev/policy";

static char *policies(void)
{
    char *text = read_text(device, NULL);
    if (!text)
        die("%s", device);
    return text;
}

/* Everything up to the last error, which is of an earlier command. */
static void list(void)
{
    char *text = policies();
    char *error = strstr(text, "\nlast error: ");
    if (error)
        error[1] = 0;
    fputs(text, stdout);
}

static void refused(void)
{
    static const char mark[] = "\nlast error: ";
    char *reason = strstr(policies(), mark);
    if (!reason)
        diex("%s", strerror(EINVAL));
    reason += sizeof mark - 1;
    reason[strcspn(reason, "\n")] = 0;
    diex("%s", reason);
}

int main(int argc, char **argv)
{
    char line[256] = "";
    static const char usage[] =
        "policy [use KIND NAME | set POLICY.TUNABLE VALUE]";
    while (options(argc, argv, "", usage) > 0)
        ;
    if (optind == argc) {
        list();
        return 0;
    }
    for (; optind < argc; optind++) {
        strlcat(line, argv[optind], sizeof line);
        if (strlcat(line, optind + 1 < argc ? " " : "\n", sizeof line) >=
            sizeof line)
            diex("line too long");
    }
    int fd = open(device, O_WRONLY);
    if (fd < 0)
        die("%s", device);
    if (write(fd, line, strlen(line)) >= 0)
        return 0;
    if (errno == EINVAL)
        refused();
    die("%s", device);
}
