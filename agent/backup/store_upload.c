/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define ABOUT_FILE "upload"
#define DATA_FILE "data"
#define REMOVE_TRIES 8

/* ---- the folder of an upload ---- */

struct about {
    char name[STORE_NAME_SIZE];
    char boot[STORE_BOOT_SIZE];
};

static int no_such_upload(struct store_fault *fault)
{
    return store_fault_set(fault, STORE_NO_SUCH_UPLOAD, "there is no such upload");
}

/* False also for what a crash left of it: its last line has no end then. */
static bool read_about(int dir, struct about *ret)
{
    char text[sizeof(*ret) + 8];
    int fd = openat(dir, ABOUT_FILE, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[MAX_OF(n, 0)] = '\0';
    size_t name_len = strcspn(text, "\n");
    const char *boot = text[name_len] ? text + name_len + 1 : "";
    size_t boot_len = strcspn(boot, "\n");
    if (name_len >= sizeof(ret->name) || boot_len >= sizeof(ret->boot) || boot[boot_len] != '\n')
        return false;
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)name_len, text);
    snprintf(ret->boot, sizeof(ret->boot), "%.*s", (int)boot_len, boot);
    return store_name_is_valid(ret->name);
}

/* Writes ABOUT_FILE under a temporary name; fill_upload renames it. */
static int write_about(const struct store_folder *folder, int dir, const char *name, const char *file)
{
    char text[sizeof(struct about) + 8];
    int len = snprintf(text, sizeof(text), "%s\n%s\n", name, folder->boot_id);
    int fd = openat(dir, file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, (size_t)len);
    int saved = n < 0 ? errno : ENOSPC;
    close(fd);
    errno = saved;
    return n == len ? 0 : -1;
}

static bool is_of(const struct store_folder *folder, const struct about *about, const struct store_request *request)
{
    return str_eq(about->name, request->name) && str_eq(about->boot, folder->boot_id);
}

/* One that can be gone on with. */
static int open_upload(const struct store_folder *folder, const struct store_request *request, struct store_fault *fault)
{
    struct about about;
    int dir = openat(folder->uploads, request->upload_id, DIR_FLAGS);

    if (dir >= 0 && read_about(dir, &about) && is_of(folder, &about, request))
        return dir;
    if (dir >= 0)
        close(dir);
    return no_such_upload(fault);
}

static void remove_flat(int parent, const char *name)
{
    for (int tries = 0; tries < REMOVE_TRIES; tries++) {
        int fd = openat(parent, name, DIR_FLAGS);
        DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
        if (!stream) {
            if (fd >= 0)
                close(fd);
            return;
        }
        unlinkat(fd, ABOUT_FILE, 0); /* first: then nothing new begins in it */
        for (struct dirent *entry; (entry = readdir(stream));)
            unlinkat(fd, entry->d_name, 0);
        closedir(stream);
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return;
    }
}

/* ---- all of them ---- */

static DIR *open_uploads(const struct store_folder *folder)
{
    int fd = openat(folder->uploads, ".", DIR_FLAGS);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

    if (!stream && fd >= 0)
        close(fd);
    return stream;
}

static bool is_upload_id(const char *name)
{
    return strlen(name) == STORE_ID_SIZE - 1 && strspn(name, "0123456789abcdef") == STORE_ID_SIZE - 1;
}

/* Whatever boot it is of; what is not begun to the end is of nobody. */
static bool find_name(const struct store_folder *folder, const char *id, struct about *ret)
{
    int dir = openat(folder->uploads, id, DIR_FLAGS);
    bool found = dir >= 0 && read_about(dir, ret);

    if (dir >= 0)
        close(dir);
    return found;
}

int store_uploads_end(
    const struct store_folder *folder, const char *prefix, size_t *ret_count, struct store_fault *fault)
{
    DIR *stream = open_uploads(folder);
    struct about about;

    if (!stream)
        return store_fault_errno(fault, errno, "the uploads cannot be listed");
    *ret_count = 0;
    for (struct dirent *found; (errno = 0, found = readdir(stream));) {
        if (!is_upload_id(found->d_name) || !find_name(folder, found->d_name, &about) ||
            !str_starts_with(about.name, prefix))
            continue;
        remove_flat(folder->uploads, found->d_name);
        ++*ret_count;
    }
    int saved = errno;
    closedir(stream);
    return saved == 0 ? 0 : store_fault_errno(fault, saved, "the uploads cannot be listed");
}

/* This upload is not counted. */
static bool are_too_many(const struct store_folder *folder, const char *id)
{
    DIR *stream = open_uploads(folder);
    size_t count = 0;

    for (const struct dirent *found; stream && (found = readdir(stream));)
        count += is_upload_id(found->d_name) && !str_eq(found->d_name, id);
    if (stream)
        closedir(stream);
    return count >= STORE_UPLOADS_MAX;
}

static int64_t touched_ms(int dir, const char *name)
{
    struct stat st;

    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
}

unsigned store_uploads_sweep(const struct store_folder *folder, int64_t now_ms)
{
    static const char *const files[] = {".", ABOUT_FILE, DATA_FILE};
    DIR *stream = open_uploads(folder);
    unsigned removed = 0;

    for (struct dirent *found; stream && (found = readdir(stream));) {
        int64_t touched = touched_ms(folder->uploads, found->d_name);
        int dir = is_upload_id(found->d_name) ? openat(folder->uploads, found->d_name, DIR_FLAGS) : -1;
        for (size_t i = 0; dir >= 0 && i < ARRAY_LEN(files); i++)
            touched = MAX_OF(touched, touched_ms(dir, files[i]));
        if (dir >= 0)
            close(dir);
        if (*found->d_name == '.' || now_ms - touched < STORE_ABANDONED_MS)
            continue;
        if (dir >= 0)
            remove_flat(folder->uploads, found->d_name);
        else
            unlinkat(folder->uploads, found->d_name, 0);
        removed++;
    }
    if (stream)
        closedir(stream);
    return removed;
}

/* ---- one ---- */

static int make_data(int dir)
{
    int data = openat(dir, DATA_FILE, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (data >= 0)
        close(data);
    return data < 0 ? -1 : 0;
}

/* ABOUT_FILE is renamed into place last: the upload exists from then on. Two requests for the same id may run at the
 * same time: one that fails removes only its own temporary file. */
static int fill_upload(const struct store_folder *folder, int dir, const char *name)
{
    char tag[STORE_TAG_SIZE];

    store_make_tag(tag);
    if (write_about(folder, dir, name, tag) == 0 && make_data(dir) == 0 && renameat(dir, tag, dir, ABOUT_FILE) == 0)
        return 0;
    int saved = errno;
    unlinkat(dir, tag, 0);
    errno = saved;
    return -1;
}

static int make_upload(const struct store_folder *folder, const struct store_request *request)
{
    if (mkdirat(folder->uploads, request->upload_id, 0700) < 0 && errno != EEXIST)
        return -1;
    int dir = openat(folder->uploads, request->upload_id, DIR_FLAGS);
    if (dir < 0)
        return -1;
    int rc = fill_upload(folder, dir, request->name);
    int saved = errno;
    close(dir);
    /* Only if it is empty: otherwise another request for this id has been answered. */
    if (rc < 0)
        unlinkat(folder->uploads, request->upload_id, AT_REMOVEDIR);
    errno = saved;
    return rc;
}

/* The limit is checked before anything is made, so that a refusal has nothing to remove. Several uploads that begin at
 * the same time may exceed it by a few. */
int store_upload_begin(const struct store_folder *folder, const struct store_request *request, struct store_fault *fault)
{
    struct about about;

    if (find_name(folder, request->upload_id, &about))
        return is_of(folder, &about, request)
            ? 0
            : store_fault_set(fault, STORE_INVALID_ARGUMENT, "the id is of another upload");
    if (are_too_many(folder, request->upload_id))
        return store_fault_set(fault, STORE_BUSY, "%d uploads have been begun and not ended", STORE_UPLOADS_MAX);
    if (make_upload(folder, request) < 0)
        return store_write_fault(folder, errno, "the upload cannot be begun", fault);
    return 0;
}

int store_piece_begin(const struct store_folder *folder, const struct store_request *request, uint64_t bytes,
    struct store_draft *ret, struct store_fault *fault)
{
    struct store_draft draft = STORE_DRAFT_INIT;

    draft.dir = open_upload(folder, request, fault);
    if (draft.dir < 0)
        return -1;
    draft.in_place = true;
    draft.begin = request->offset;
    draft.bytes = bytes;
    draft.hashed = *request->sha256 != '\0';
    snprintf(draft.file, sizeof(draft.file), "%s", DATA_FILE);
    if (store_draft_open(folder, &draft, fault) < 0)
        return -1;
    *ret = draft;
    return 0;
}

int store_piece_finish(struct store_draft *draft, const struct store_request *request, struct store_fault *fault)
{
    if (store_draft_check(draft, request->sha256, fault) < 0)
        return -1;
    /* Only begun, so that committing has less to wait for. */
    sync_file_range(draft->fd, (off_t)draft->begin, (off_t)draft->bytes, SYNC_FILE_RANGE_WRITE);
    if (faccessat(draft->dir, ABOUT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return store_fault_set(fault, STORE_NO_SUCH_UPLOAD, "the upload was ended meanwhile");
    store_draft_close(draft);
    return 0;
}

/* The kernel tells once that bytes could not be written, and takes them for written afterwards: syncing again would
 * succeed. So the upload goes, before anybody is told, and a commit that is repeated finds none. */
static int break_upload(
    const struct store_folder *folder, const struct store_request *request, int errnum, struct store_fault *fault)
{
    remove_flat(folder->uploads, request->upload_id);
    store_write_fault(folder, errnum, "what was uploaded could not be written", fault);
    if (fault->code == STORE_INTERNAL)
        fault->code = STORE_UPLOAD_BROKEN;
    return -1;
}

static int settle_data(
    const struct store_folder *folder, int dir, const struct store_request *request, struct store_fault *fault)
{
    const uint64_t bytes = request->bytes;
    int data = openat(dir, DATA_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    struct stat st = {0};

    if (data < 0)
        return no_such_upload(fault);
    int rc = fstat(data, &st);
    if (rc < 0)
        store_write_fault(folder, errno, "the object cannot be stored", fault);
    else if ((uint64_t)st.st_size < bytes)
        rc = store_fault_set(fault, STORE_INCOMPLETE_UPLOAD, "%llu of %llu bytes are there",
            (unsigned long long)st.st_size, (unsigned long long)bytes);
    /* Also where it has that size: what was reserved behind it and not written goes. */
    else if (ftruncate(data, (off_t)bytes) < 0 || fsync(data) < 0)
        rc = break_upload(folder, request, errno, fault);
    close(data);
    return rc;
}

int store_upload_commit(
    const struct store_folder *folder, const struct store_request *request, struct store_fault *fault)
{
    int dir = open_upload(folder, request, fault);

    if (dir < 0)
        return -1;
    int rc = settle_data(folder, dir, request, fault);
    if (rc == 0)
        rc = store_publish(folder, dir, DATA_FILE, request->name, fault);
    close(dir);
    if (rc == 0)
        remove_flat(folder->uploads, request->upload_id);
    return rc;
}

void store_upload_end(const struct store_folder *folder, const struct store_request *request)
{
    struct about about;

    if (find_name(folder, request->upload_id, &about) && str_eq(about.name, request->name))
        remove_flat(folder->uploads, request->upload_id);
}
