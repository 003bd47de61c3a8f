/* SPDX-License-Identifier: Apache-2.0 */
// The sandbox process of every pod: holds the namespaces, reaps orphans, ends on SIGTERM.
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_end(int signal)
{
    (void)signal;
    _exit(0);
}

static void on_child(int signal)
{
    (void)signal;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

int main(void)
{
    struct sigaction child = { .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
    sigaction(SIGCHLD, &child, NULL);
    signal(SIGINT, on_end);
    signal(SIGTERM, on_end);
    for (;;)
        pause();
}
