/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/tests/promtool_util.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static bool is_installed(void)
{
    const char *path = str_or_empty(getenv("PATH"));
    char file[4096];
    for (size_t n; *path; path += n + (path[n] == ':')) {
        n = strcspn(path, ":");
        snprintf(file, sizeof(file), "%.*s/promtool", (int)n, path);
        if (access(file, X_OK) == 0)
            return true;
    }
    return false;
}

void promtool_check_metrics(const char *text)
{
    int fds[2], status = -1;
    size_t len = strlen(text), sent = 0;
    if (!is_installed()) {
        print_message("no promtool (package prometheus)\n");
        skip();
    }
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fds[0], STDIN_FILENO);
        close(fds[0]);
        close(fds[1]);
        execlp("promtool", "promtool", "check", "metrics", (char *)NULL);
        _exit(127);
    }
    close(fds[0]);
    for (ssize_t n; sent < len && (n = write(fds[1], text + sent, len - sent)) > 0;)
        sent += (size_t)n;
    close(fds[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("promtool refuses it (status %d)", status);
}
