/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/epoch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strbuf.h"

#define EPOCH_TEXT_MAX 64
#define EPOCH_DIGITS 20
#define SINCE_TEXT_MAX 256
#define SINCE_WORD_MAX 64
#define HAND_OVER (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

int epoch_file_read(const struct agent_paths *paths, uint64_t *ret, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/epoch", paths->state_dir);
    _cleanup_(strbuf_release) struct strbuf text;
    struct error failure = ERROR_INIT;
    char *end;

    strbuf_init(&text, EPOCH_TEXT_MAX);
    if (fs_read_file(path, &text, &failure) < 0) {
        if (failure.kind == ERROR_NOT_FOUND) {
            *ret = 0;
            return 0;
        }
        if (err)
            *err = failure;
        return -1;
    }
    errno = 0;
    unsigned long long epoch = strtoull(text.buf, &end, 10);
    if (errno != 0 || end == text.buf || *text.buf < '0' || *text.buf > '9' || strcmp(end, "\n") != 0)
        return error_set(err, ERROR_INVALID, "%s holds no epoch", path);
    *ret = epoch;
    return 0;
}

static int write_padded(const char *path, uint64_t epoch, int digits, struct error *err)
{
    _cleanup_(freep) char *text = xasprintf("%0*llu\n", digits, (unsigned long long)epoch);

    return fs_write_note(path, text, 0600, err);
}

/* Always of the same length, so that a full volume takes it, too. A file that an older agent left there is shorter. */
int epoch_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/epoch", paths->state_dir);
    _cleanup_(strbuf_release) struct strbuf old;

    strbuf_init(&old, EPOCH_TEXT_MAX);
    if (fs_mkdir_all(paths->state_dir, 0700, err) < 0)
        return -1;
    if (write_padded(path, epoch, EPOCH_DIGITS, err) == 0)
        return 0;
    if (fs_read_file(path, &old, NULL) < 0 || old.len < 2 || old.len > EPOCH_DIGITS)
        return -1;
    return write_padded(path, epoch, (int)old.len - 1, err);
}

/* False: there is none, or it cannot be read. */
static bool opened_load(const struct agent_paths *paths, uint64_t *ret)
{
    _cleanup_(freep) char *path = xasprintf("%s/opened", paths->state_dir);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, EPOCH_TEXT_MAX);
    bool is_whole = fs_read_file(path, &text, NULL) == 0 && text.len == EPOCH_DIGITS + 1;
    *ret = is_whole ? strtoull(text.buf, NULL, 10) : 0;
    return is_whole;
}

uint64_t opened_file_read(const struct agent_paths *paths)
{
    uint64_t epoch = 0;

    return opened_load(paths, &epoch) ? epoch : 0;
}

int opened_file_make(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/opened", paths->state_dir);
    struct stat st;

    if (stat(path, &st) == 0 && st.st_size == EPOCH_DIGITS + 1)
        return 0;
    return fs_mkdir_all(paths->state_dir, 0700, err) < 0 ? -1 : write_padded(path, 0, EPOCH_DIGITS, err);
}

int opened_file_write(const struct agent_paths *paths, uint64_t epoch, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/opened", paths->state_dir);
    _cleanup_(freep) char *text = xasprintf("%0*llu\n", EPOCH_DIGITS, (unsigned long long)epoch);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    if (fd < 0)
        return error_set_errno(err, errno, "creating %s", path);
    bool is_written = pwrite(fd, text, EPOCH_DIGITS + 1, 0) == EPOCH_DIGITS + 1;
    int errnum = errno;
    if (is_written && sync_file_range(fd, 0, 0, HAND_OVER) < 0) {
        errnum = errno;
        is_written = errnum != EIO && errnum != ENOSPC; /* others: the file system does not know it */
    }
    close(fd);
    return is_written ? 0 : error_set_errno(err, errnum, "writing %s", path);
}

void opened_file_forget(const struct agent_paths *paths)
{
    struct error err = ERROR_INIT;

    if (noted_since_end(paths, &err) < 0)
        log_warn("that openings of the data that is gone were noted stays noted", LOG_ERR(&err));
    error_clear(&err);
    if (opened_file_read(paths) != 0 && opened_file_write(paths, 0, &err) < 0)
        log_warn("the epoch in which the data that is gone was opened stays noted", LOG_ERR(&err));
}

/* ---- since when each opening is noted ---- */

static bool is_word(const char *text)
{
    return *text && strlen(text) <= SINCE_WORD_MAX && strpbrk(text, " \n") == NULL;
}

/* 0: there is none of this boot and pod, or another version wrote it. */
static uint64_t read_since(const char *path, const char *boot, const char *pod)
{
    _cleanup_(strbuf_release) struct strbuf text;
    char *end;

    strbuf_init(&text, SINCE_TEXT_MAX);
    if (fs_read_file(path, &text, NULL) < 0 || strncmp(text.buf, "1 ", 2) != 0)
        return 0;
    unsigned long long epoch = strtoull(text.buf + 2, &end, 10);
    _cleanup_(freep) char *expected = xasprintf("1 %llu %s %s\n", epoch, boot, pod);
    return strcmp(expected, text.buf) == 0 ? epoch : 0;
}

uint64_t noted_since_begin(const struct agent_paths *paths, const char *boot, const char *pod, uint64_t epoch)
{
    _cleanup_(freep) char *path = xasprintf("%s/noted-since", paths->state_dir);
    struct error err = ERROR_INIT;

    if (!is_word(boot) || !is_word(pod))
        return 0;
    uint64_t since = read_since(path, boot, pod);
    if (since > 0)
        return since;
    _cleanup_(freep) char *text = xasprintf("1 %llu %s %s\n", (unsigned long long)epoch + 1, boot, pod);
    if (fs_mkdir_all(paths->state_dir, 0700, &err) == 0 &&
        fs_write_file_atomic(path, text, strlen(text), 0600, &err) == 0)
        return epoch + 1;
    log_warn("since when each opening is noted cannot be noted", LOG_ERR(&err));
    return 0;
}

int noted_since_end(const struct agent_paths *paths, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/noted-since", paths->state_dir);

    if (unlink(path) == 0)
        return fs_fsync_dir(paths->state_dir, err);
    return errno == ENOENT ? 0 : error_set_errno(err, errno, "removing %s", path);
}

void openings_begin(const struct agent_paths *paths, const char *boot, const char *pod, uint64_t epoch,
    uint64_t *ret_opened, uint64_t *ret_since)
{
    struct error err = ERROR_INIT;
    bool is_certain = opened_load(paths, ret_opened) || noted_since_end(paths, &err) == 0;

    if (!is_certain)
        log_warn("an opening that cannot be read stays noted", LOG_ERR(&err));
    error_clear(&err);
    if (opened_file_make(paths, &err) < 0)
        log_warn("the note of openings cannot be made", LOG_ERR(&err));
    *ret_since = is_certain ? noted_since_begin(paths, boot, pod, epoch) : 0;
}
