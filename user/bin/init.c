/*
 * init: process 1. Runs /rc if there is one and powers off with its exit
 * status; otherwise runs a shell at the console and powers off when the user
 * leaves it. The kernel gives it the console as descriptors 0 to 2.
 *
 * Orphans become init's children: it waits for them too.
 */
#include "user/lib.h"

/* Start a program as the group that the console belongs to. Returns its
 * number. */
static int start(char *const argv[])
{
    int pid = fork();
    if (pid < 0)
        die("fork");
    if (pid > 0)
        return pid;
    setpgrp(0, 0);
    ioctl(0, TTY_FOREGROUND, getpid());
    exec(argv[0], argv);
    die("%s", argv[0]);
}

/* Wait until this child has ended. Returns its exit status. */
static int wait_for(int pid)
{
    int status, dead;
    do {
        dead = wait(-1, &status, 0);
        if (dead < 0)
            die("wait");
    } while (dead != pid);
    return status & WKILLED ? 130 : status & 255;
}

int main(void)
{
    struct stat st;
    int status = 0;
    if (stat("/rc", &st) == 0) {
        status = wait_for(start((char *[]){"/bin/sh", "/rc", NULL}));
    } else {
        printf("\nSluice. `help` tells the shell's commands, ^D powers off.\n");
        wait_for(start((char *[]){"/bin/sh", NULL}));
        printf("power off\n");
    }
    fflush(stdout);
    poweroff(status, true);
    die("poweroff");
}
