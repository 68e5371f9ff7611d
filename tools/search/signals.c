/* Signals of the search: faults and loops of the kernel in a step, and ^C. */
#include <stdlib.h>
#include <sys/time.h>

#include "tools/search/explore.h"

/* Each quarter of a second of the processor's time. Only a step is ended: the
 * search itself may take as long as it likes. */
static void on_alarm(int signal)
{
    (void)signal;
    if (!search->stepping)
        return;
    if (search->seen_steps != search->steps) {
        search->seen_steps = search->steps;
        search->stuck = 0;
    } else if (++search->stuck >= 3) {
        search->stuck = 0;
        violated(0, "a step does not end");
    }
}

static void on_interrupt(int signal)
{
    (void)signal;
    search->interrupted = 1;
}

static void catch (int signal, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler,
                          .sa_flags = SA_ONSTACK | SA_NODEFER | SA_RESTART};
    sigaction(signal, &a, NULL);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    if (signal == SIGSEGV && state_first_write(info->si_addr))
        return;
    if (!search->stepping) { /* a fault of the search: it ends by the signal */
        catch (signal, SIG_DFL);
        return;
    }
    violated(0, signal == SIGFPE ? "a division by zero"
                                 : "memory that is not there is used");
}

static void catch_fault(int signal)
{
    struct sigaction a = {.sa_sigaction = on_fault,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigaction(signal, &a, NULL);
}

void catch_all(void)
{
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    sigaltstack(&stack, NULL);
    int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (u32 i = 0; i < NELEM(faults); i++)
        catch_fault(faults[i]);
    catch (SIGINT, on_interrupt);
    catch (SIGTERM, on_interrupt);
    catch (SIGVTALRM, on_alarm);
    struct itimerval each = {{0, 250000}, {0, 250000}};
    setitimer(ITIMER_VIRTUAL, &each, NULL);
}
