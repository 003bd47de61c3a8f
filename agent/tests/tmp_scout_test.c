/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has open, or mapped, in a folder: here its own. And the process that looks beside a server. */
#include "common/base.h"

#include "agent/tmp_scout.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"

#define PIECE ((size_t)256 * KM_KIB)

static char folder[] = "/tmp/tmp-scout-XXXXXX";

static int set_up(void **state)
{
    UNUSED(state);
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    UNUSED(state);
    return fs_remove_all(folder, NULL);
}

/* name NULL: without one. keep_name: as MariaDB's temporary tables. */
static int make_file(const char *dir, const char *name, bool keep_name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, str_or_empty(name));
    int fd = name ? open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                  : open(path, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, PIECE), 0);
    if (name && !keep_name)
        assert_int_equal(unlink(path), 0);
    return fd;
}

static uint64_t pieces(bool maps_files)
{
    uint64_t bytes = 0;

    assert_int_equal(tmp_scout_bytes(getpid(), folder, maps_files, &bytes, NULL), 0);
    return (bytes + PIECE / 2) / PIECE;
}

static void all_that_is_open_counts_once(void **state)
{
    _cleanup_(freep) char *below = xasprintf("%s/below", folder);

    UNUSED(state);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(pieces(true), 0);
    int fds[] = {make_file(folder, "unlinked", false), make_file(folder, NULL, false), make_file(folder, "named", true),
        -1, make_file(below, "elsewhere", false)};
    fds[3] = fcntl(fds[0], F_DUPFD_CLOEXEC, 0);
    assert_int_equal(pieces(true), 3);
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    assert_int_equal(pieces(true), 0); /* "named" is nobody's now */
}

/* MySQL's temporary tables that are mapped. */
static void what_is_mapped_counts(void **state)
{
    int fd = make_file(folder, "mapped", false);
    void *at = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    UNUSED(state);
    assert_true(at != MAP_FAILED);
    assert_int_equal(pieces(true), 1);
    close(fd);
    assert_int_equal(pieces(true), 1);
    assert_int_equal(pieces(false), 0);
    munmap(at, PIECE);
    assert_int_equal(pieces(true), 0);
}

static void another_process_may_not_be_there(void **state)
{
    struct error err = ERROR_INIT;
    struct tmp_thread *threads;
    uint64_t bytes = 0;

    UNUSED(state);
    assert_int_equal(tmp_scout_bytes(0x3ffffff, folder, true, &bytes, &err), -1);
    assert_non_null(strstr(err.message, "/proc/67108863/fd"));
    assert_int_equal(tmp_scout_threads(0x3ffffff, &threads), 0);
    assert_null(threads);
}

static uint64_t written_by_me(void)
{
    struct tmp_thread *threads;
    size_t count = tmp_scout_threads(getpid(), &threads);
    uint64_t written = 0;

    for (size_t i = 0; i < count; i++) {
        if (threads[i].thread == (uint64_t)syscall(SYS_gettid))
            written = threads[i].written;
    }
    free(threads);
    return written;
}

static void a_thread_has_written(void **state)
{
    char *data = xcalloc(1, PIECE);
    int fd = make_file(folder, "written", false);
    uint64_t before = written_by_me();

    UNUSED(state);
    if (access("/proc/self/io", R_OK) < 0) {
        printf("skipped: this kernel does not tell\n");
    } else {
        assert_int_equal(pwrite(fd, data, PIECE, 0), PIECE);
        uint64_t wrote = written_by_me() - before;
        assert_true(wrote >= PIECE && wrote < 2 * PIECE);
    }
    close(fd);
    free(data);
}

/* ---- beside a server ---- */

#define SERVER_MS 10000

struct beside {
    struct agent_paths paths;
    int from_server; /* it ends when nobody has the other end any more */
    pid_t server, scout;
};

static pid_t only_child_of(pid_t parent)
{
    char path[64], line[64];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    return (pid_t)strtol(line, NULL, 10);
}

/* What becomes of a server: it has another program, and waits for no child. */
static _Noreturn void become_server(const struct agent_paths *paths)
{
    tmp_scout_start(paths, true);
    execlp("sleep", "sleep", "60", NULL);
    _exit(1);
}

static void begin(struct beside *beside)
{
    int fds[2];

    *beside = (struct beside){0};
    beside->paths.tmp_look = xasprintf("%s/tmp-look", folder);
    unlink(beside->paths.tmp_look);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0); /* so that this test hears of the scout's end */
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0); /* the server's end is closed as it becomes another program */
    fflush(NULL);
    beside->server = fork();
    assert_true(beside->server >= 0);
    if (beside->server == 0)
        become_server(&beside->paths);
    close(fds[1]);
    beside->from_server = fds[0];
    int64_t end_ms = clock_monotonic_ms() + SERVER_MS;
    while (!fs_exists(beside->paths.tmp_look) && clock_monotonic_ms() < end_ms)
        usleep(20000);
    assert_true(fs_exists(beside->paths.tmp_look));
    beside->scout = only_child_of(beside->server);
    assert_true(beside->scout > 0);
}

static void finish(struct beside *beside)
{
    close(beside->from_server);
    free(beside->paths.tmp_look);
}

static void a_scout_holds_nothing_and_ends_with_its_server(void **state)
{
    struct beside beside;
    int status = 0;

    UNUSED(state);
    begin(&beside);
    struct pollfd poll_fd = {.fd = beside.from_server, .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, SERVER_MS), 1); /* both live, and neither has the other end */
    assert_true(poll_fd.revents & POLLHUP);
    assert_int_equal(waitpid(beside.server, NULL, WNOHANG), 0);
    kill(beside.server, SIGKILL);
    assert_int_equal(waitpid(beside.server, &status, 0), beside.server);
    assert_int_equal(waitpid(beside.scout, &status, 0), beside.scout);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    finish(&beside);
}

/* The server ends as it would have without one. */
static void a_server_does_not_notice_that_its_scout_is_gone(void **state)
{
    struct beside beside;
    int status = 0;

    UNUSED(state);
    begin(&beside);
    kill(beside.scout, SIGKILL);
    usleep(100000);
    assert_int_equal(waitpid(beside.server, NULL, WNOHANG), 0);
    kill(beside.server, SIGTERM);
    assert_int_equal(waitpid(beside.server, &status, 0), beside.server);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    finish(&beside);
}

/* A folder that is not there, as a full disk: nothing is left for the agent, and the server starts. */
static void a_look_that_cannot_be_left_is_left_out(void **state)
{
    struct agent_paths paths = {.tmp_look = xasprintf("%s/nowhere/tmp-look", folder)};
    int status = 0;

    UNUSED(state);
    fflush(NULL);
    pid_t server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        tmp_scout_start(&paths, false);
        execlp("sh", "sh", "-c", "exit 7", NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(server, &status, 0), server);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    free(paths.tmp_look);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_open_counts_once),
        cmocka_unit_test(what_is_mapped_counts),
        cmocka_unit_test(another_process_may_not_be_there),
        cmocka_unit_test(a_thread_has_written),
        cmocka_unit_test(a_scout_holds_nothing_and_ends_with_its_server),
        cmocka_unit_test(a_server_does_not_notice_that_its_scout_is_gone),
        cmocka_unit_test(a_look_that_cannot_be_left_is_left_out),
    };

    return cmocka_run_group_tests_name("tmp_scout", tests, set_up, tear_down);
}
