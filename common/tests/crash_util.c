/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/crash_util.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

bool crash_at(unsigned place, int (*run)(void *arg), void *arg)
{
    int status = 0;

    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
            _exit(2);
        raise(SIGSTOP);
        _exit(run(arg) == 0 ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    if (!WIFSTOPPED(status)) {
        printf("skipped: no child may be traced here\n");
        skip();
    }
    for (unsigned calls = 0; WIFSTOPPED(status); calls++) {
        if (calls == place)
            kill(pid, SIGKILL);
        ptrace(PTRACE_SYSCALL, pid, NULL, NULL);
        waitpid(pid, &status, 0);
    }
    if (WIFSIGNALED(status))
        return true;
    assert_int_equal(WEXITSTATUS(status), 0);
    return false;
}

unsigned crash_at_every_call(bool (*try)(void *arg, unsigned place), void *arg)
{
    unsigned place = 1;

    while (try(arg, place)) {
        place += 2;
        assert_true(place < CRASH_PLACES_MAX);
    }
    return place / 2;
}
