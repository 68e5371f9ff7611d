/* kill: ends processes; with a minus before the number, process groups. */
#include "user/lib.h"

int main(int argc, char **argv)
{
    static const char usage[] = "kill PID | -GROUP ...";
    int failed = 0;
    if (argc < 2 || strcmp(argv[1], "-h") == 0)
        usage_exit(usage);
    for (int i = 1; i < argc; i++) {
        i64 pid;
        if (!parse_i64(argv[i], &pid) || pid == 0 || pid < -INT_MAX ||
            pid > INT_MAX) {
            warnx("%s: not a process number", argv[i]);
            failed = 1;
        } else if (kill(pid) < 0) {
            warn("%s", argv[i]);
            failed = 1;
        }
    }
    return failed;
}
