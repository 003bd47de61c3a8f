/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tmp_scout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/agent_api.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/log.h"

/* From here on looks come faster: a sort takes hundreds of megabytes a second. */
#define BUSY_BYTES (32 * KM_MIB)
/* Below it threads are looked at only now and then, so that there is something to compare with. */
#define QUIET_BYTES (1 * KM_MIB)
#define QUIET_LOOKS 5
#define BLOCK 512

/* ---- what is open ---- */

struct file {
    ino_t inode;
    uint64_t bytes;
};

struct files {
    struct file *v;
    size_t n, room;
};

static void files_add(struct files *files, ino_t inode, uint64_t bytes)
{
    if (files->n == files->room) {
        files->room = files->room ? 2 * files->room : 64;
        files->v = xrealloc(files->v, files->room * sizeof(files->v[0]));
    }
    files->v[files->n++] = (struct file){inode, bytes};
}

static int by_inode(const void *a, const void *b)
{
    ino_t left = ((const struct file *)a)->inode, right = ((const struct file *)b)->inode;

    return left < right ? -1 : left > right;
}

/* A file may be open twice, and mapped in parts. What is open tells the disk's own number, which is the first. */
static uint64_t files_sum(struct files *files)
{
    uint64_t sum = 0;

    if (files->n > 0)
        qsort(files->v, files->n, sizeof(files->v[0]), by_inode);
    for (size_t i = 0; i < files->n; i++) {
        bool again = i > 0 && files->v[i].inode == files->v[i - 1].inode;
        sum += again ? 0 : files->v[i].bytes;
    }
    free(files->v);
    return sum;
}

/* Directly: a volume may be mounted further below, or a test have its folder there. */
static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);

    return strncmp(path, folder, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
}

static int add_open(pid_t pid, const char *folder, dev_t device, struct files *files, struct error *err)
{
    char path[64], target[256];
    const struct dirent *entry;
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    if (!dir)
        return error_set_errno(err, errno, "%s", path);
    while ((entry = readdir(dir))) {
        ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
        target[MAX_OF(len, 0)] = '\0';
        /* By name first: a volume that does not answer is not asked for what is open there. */
        if (is_in(target, folder) && fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
            st.st_dev == device)
            files_add(files, st.st_ino, (uint64_t)st.st_blocks * BLOCK);
    }
    closedir(dir);
    return 0;
}

/* ADDRESS-ADDRESS rw-s OFFSET MAJOR:MINOR INODE PATH: such a file is as large as what is mapped of it. */
static void add_mapped_line(char *line, const char *folder, struct files *files)
{
    char *at;

    line[strcspn(line, "\n")] = '\0';
    uint64_t from = strtoull(line, &at, 16);
    uint64_t to = *at == '-' ? strtoull(at + 1, &at, 16) : 0;
    if (to <= from || strlen(at) < 5 || at[4] != 's')
        return;
    at += 5;
    for (int i = 0; i < 2; i++) { /* the offset and the device */
        at += strspn(at, " ");
        at += strcspn(at, " ");
    }
    uint64_t inode = strtoull(at, &at, 10);
    at += strspn(at, " ");
    if (is_in(at, folder))
        files_add(files, (ino_t)inode, to - from);
}

static void add_mapped(pid_t pid, const char *folder, struct files *open_files)
{
    struct files mapped = {0};
    char path[64], line[512];

    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        add_mapped_line(line, folder, &mapped);
    if (file)
        fclose(file);
    for (size_t i = 0; i < mapped.n; i++) {
        bool is_open = false;
        for (size_t j = 0; j < open_files->n && !is_open; j++)
            is_open = open_files->v[j].inode == mapped.v[i].inode;
        if (!is_open)
            files_add(open_files, mapped.v[i].inode, mapped.v[i].bytes);
    }
    free(mapped.v);
}

int tmp_scout_bytes(pid_t pid, const char *folder, bool maps_files, uint64_t *ret, struct error *err)
{
    struct files files = {0};
    struct stat st;

    if (stat(folder, &st) < 0)
        return error_set_errno(err, errno, "%s", folder);
    int rc = add_open(pid, folder, st.st_dev, &files, err);
    if (rc == 0 && maps_files)
        add_mapped(pid, folder, &files);
    *ret = files_sum(&files);
    return rc;
}

/* ---- who wrote ---- */

static bool read_written(int tasks, const char *thread, uint64_t *ret)
{
    static const char key[] = "\nwchar: ";
    char path[64], text[512];

    snprintf(path, sizeof(path), "%s/io", thread);
    int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[MAX_OF(len, 0)] = '\0';
    const char *at = strstr(text, key);
    if (!at)
        return false;
    *ret = strtoull(at + strlen(key), NULL, 10);
    return true;
}

size_t tmp_scout_threads(pid_t pid, struct tmp_thread **ret)
{
    size_t count = 0, room = 0;
    char path[64];
    const struct dirent *entry;

    *ret = NULL;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        uint64_t written = 0;
        if (*entry->d_name == '.' || !read_written(dirfd(dir), entry->d_name, &written))
            continue;
        if (count == room) {
            room = room ? 2 * room : 64;
            *ret = xrealloc(*ret, room * sizeof(**ret));
        }
        (*ret)[count++] = (struct tmp_thread){.thread = strtoull(entry->d_name, NULL, 10), .written = written};
    }
    if (dir)
        closedir(dir);
    return count;
}

/* ---- the process ---- */

struct scout {
    pid_t server;
    bool maps_files;
    struct tmp_ledger ledger;
    unsigned quiet_looks;
    struct tmp_look last; /* that was written */
    bool has_failed;      /* and said so */
};

static void put_look(struct scout *scout, const char *path, const struct tmp_look *look)
{
    char text[TMP_LOOK_TEXT_SIZE];

    if (scout->last.at_ms && look->bytes == scout->last.bytes && look->writer_count == scout->last.writer_count &&
        look->at_ms - scout->last.at_ms < TMP_SCOUT_KEPT_MS)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t len = tmp_look_render(look, text);
    if (fd >= 0 && pwrite(fd, text, len, 0) == (ssize_t)len)
        scout->last = *look;
    if (fd >= 0)
        close(fd);
}

static void look_at_threads(struct scout *scout, uint64_t bytes, int64_t at_ms)
{
    struct tmp_thread *threads;
    bool is_quiet = bytes < QUIET_BYTES && scout->ledger.bytes < QUIET_BYTES;

    if (is_quiet && scout->ledger.has_begun && ++scout->quiet_looks < QUIET_LOOKS)
        return;
    scout->quiet_looks = 0;
    size_t count = tmp_scout_threads(scout->server, &threads);
    tmp_ledger_take(&scout->ledger, threads, count, bytes, at_ms);
}

/* Returns for how long to wait. */
static int look(struct scout *scout, const char *path)
{
    struct tmp_look now = {.at_ms = clock_monotonic_ms()};
    struct error err = ERROR_INIT;

    if (tmp_scout_bytes(scout->server, AGENT_TMP_DIR, scout->maps_files, &now.bytes, &err) < 0) {
        if (!scout->has_failed)
            log_warn("what the server's temporary files take cannot be seen", LOG_ERR(&err));
        scout->has_failed = true;
        return TMP_SCOUT_INTERVAL_MS;
    }
    scout->has_failed = false;
    look_at_threads(scout, now.bytes, now.at_ms);
    tmp_ledger_fill(&scout->ledger, &now);
    put_look(scout, path, &now);
    return now.bytes >= BUSY_BYTES ? TMP_SCOUT_BUSY_MS : TMP_SCOUT_INTERVAL_MS;
}

static void close_others(void)
{
    const struct dirent *entry;

    if (syscall(SYS_close_range, STDERR_FILENO + 1U, ~0U, 0U) == 0)
        return;
    DIR *dir = opendir("/proc/self/fd"); /* a kernel before 5.9 */
    while (dir && (entry = readdir(dir))) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fd != dirfd(dir))
            close(fd);
    }
    if (dir)
        closedir(dir);
}

static _Noreturn void scout_run(const struct agent_paths *paths, pid_t server, bool maps_files)
{
    struct scout scout = {.server = server, .maps_files = maps_files};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "tmp-scout");
    close_others();
    setpriority(PRIO_PROCESS, 0, 5);
    while (getppid() == server) {
        int wait_ms = look(&scout, paths->tmp_look);
        const struct timespec pause = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000L};
        nanosleep(&pause, NULL);
    }
    _exit(0);
}

void tmp_scout_start(const struct agent_paths *paths, bool maps_files)
{
    pid_t server = getpid();

    unlink(paths->tmp_look); /* of the server before */
    pid_t pid = fork();
    if (pid == 0)
        scout_run(paths, server, maps_files);
    if (pid < 0)
        log_warn("what the server's temporary files take will not be known", LOG_INT("errno", errno));
}
