/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/strbuf.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"
/* A folder may be removed as empty between its making and the rename into it. */
#define PUBLISH_TRIES 16

/* ---- the folder ---- */

/* size - 1 hex digits; odd sizes up to 65. */
static void make_digits(char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[32];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        abort();
    for (size_t i = 0; i + 1 < size && i / 2 < sizeof(random); i++)
        out[i] = digits[(i % 2 ? random[i / 2] : random[i / 2] >> 4) & 15];
    out[MIN_OF(size - 1, 2 * sizeof(random))] = '\0';
}

void store_make_tag(char out[static STORE_TAG_SIZE])
{
    make_digits(out, STORE_TAG_SIZE);
}

/* Without it (no /proc) uploads end with the process. */
static void read_boot_id(char out[static STORE_BOOT_SIZE])
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 256);
    if (fs_read_file(BOOT_ID_FILE, &text, NULL) == 0 && text.len > 0 && text.len < STORE_BOOT_SIZE)
        snprintf(out, STORE_BOOT_SIZE, "%.*s", (int)strcspn(text.buf, "\n"), text.buf);
    else
        make_digits(out, 33);
}

static bool is_read_only(int root)
{
    struct statvfs about;

    return fstatvfs(root, &about) == 0 && (about.f_flag & ST_RDONLY) != 0;
}

int store_folder_open(const char *path, struct store_folder *ret, struct error *err)
{
    struct store_folder folder = {.root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .uploads = -1};

    if (folder.root < 0)
        return error_set_errno(err, errno, "\"%s\" cannot be opened", path);
    folder.read_only = is_read_only(folder.root);
    if (folder.read_only) {
        *ret = folder;
        return 0;
    }
    if (mkdirat(folder.root, STORE_UPLOADS_DIR, 0700) == 0 || errno == EEXIST)
        folder.uploads = openat(folder.root, STORE_UPLOADS_DIR, DIR_FLAGS);
    if (folder.uploads < 0) {
        error_set_errno(err, errno, "\"%s/%s\" cannot be opened", path, STORE_UPLOADS_DIR);
        close(folder.root);
        return -1;
    }
    if (flock(folder.uploads, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
        store_folder_close(&folder);
        return error_set(err, ERROR_CONFLICT, "another store serves \"%s\"", path);
    }
    read_boot_id(folder.boot_id);
    *ret = folder;
    return 0;
}

void store_folder_close(struct store_folder *folder)
{
    if (folder->uploads >= 0)
        close(folder->uploads);
    close(folder->root);
}

int store_write_fault(const struct store_folder *folder, int errnum, const char *what, struct store_fault *fault)
{
    struct statvfs space;

    store_fault_errno(fault, errnum, "%s", what);
    if (fault->code == STORE_INSUFFICIENT_STORAGE && fstatvfs(folder->root, &space) == 0)
        store_fault_set(fault, STORE_INSUFFICIENT_STORAGE, "%s: %s; the volume has %llu bytes left", what,
            strerrordesc_np(errnum), (unsigned long long)space.f_bavail * space.f_frsize);
    return -1;
}

/* ---- paths ---- */

static int step_into(int dir, const char *segment, bool make)
{
    int next = openat(dir, segment, DIR_FLAGS);

    if (next < 0 && errno == ENOENT && make) {
        if (mkdirat(dir, segment, 0700) < 0 && errno != EEXIST)
            return -1;
        next = openat(dir, segment, DIR_FLAGS);
    }
    if (next >= 0 && make && fsync(dir) < 0) { /* also when another request has just made it */
        int saved = errno;
        close(next);
        errno = saved;
        return -1;
    }
    return next;
}

static int path_fault(
    const struct store_folder *folder, int errnum, bool make, const char *name, struct store_fault *fault)
{
    bool is_no_folder =
        errnum == ENOTDIR || errnum == ELOOP || errnum == EISDIR || errnum == EEXIST || errnum == ENOTEMPTY;

    if (!make && (errnum == ENOENT || is_no_folder || errnum == ENAMETOOLONG))
        return store_fault_set(fault, STORE_NO_SUCH_OBJECT, "there is no such object");
    if (is_no_folder || errnum == ENAMETOOLONG)
        return store_fault_set(fault, STORE_INVALID_ARGUMENT,
            "names that begin as \"%.128s\" or are its beginning are there: a file cannot be a folder, too", name);
    return store_write_fault(folder, errnum, make ? "a folder cannot be made" : "a folder cannot be opened", fault);
}

int store_parent_open(
    const struct store_folder *folder, const char *name, bool make, const char **ret_leaf, struct store_fault *fault)
{
    char segment[STORE_SEGMENT_MAX + 1];
    int dir = openat(folder->root, ".", DIR_FLAGS);
    const char *at = name;

    for (const char *slash; dir >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
        snprintf(segment, sizeof(segment), "%.*s", (int)(slash - at), at);
        int next = step_into(dir, segment, make);
        int saved = errno;
        close(dir);
        errno = saved;
        dir = next;
    }
    if (dir < 0)
        return path_fault(folder, errno, make, name, fault);
    *ret_leaf = at;
    return dir;
}

/* ---- reading, deleting ---- */

static void make_etag(const struct stat *st, char out[static STORE_ETAG_SIZE])
{
    snprintf(out, STORE_ETAG_SIZE, "%llx-%llx-%llx", (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
        (unsigned long long)st->st_mtim.tv_sec * 1000000000ULL + (unsigned long long)st->st_mtim.tv_nsec);
}

int store_object_open(
    const struct store_folder *folder, const char *name, struct store_object *ret, struct store_fault *fault)
{
    const char *leaf;
    struct stat st;
    int dir = store_parent_open(folder, name, false, &leaf, fault);

    if (dir < 0)
        return -1;
    int fd = openat(dir, leaf, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int saved = errno;
    close(dir);
    if (fd < 0)
        return path_fault(folder, saved, false, name, fault);
    int rc = fstat(fd, &st);
    if (rc < 0)
        store_fault_errno(fault, errno, "the object cannot be looked at");
    else if (!S_ISREG(st.st_mode))
        rc = store_fault_set(fault, STORE_NO_SUCH_OBJECT, "there is no such object");
    if (rc < 0) {
        close(fd);
        return -1;
    }
    *ret = (struct store_object){.fd = fd, .bytes = (uint64_t)st.st_size};
    make_etag(&st, ret->etag);
    return 0;
}

/* From the innermost on, until one is not empty. */
static void remove_empty_parents(const struct store_folder *folder, const char *name)
{
    char path[STORE_NAME_SIZE];
    struct store_fault ignored;
    const char *leaf;
    char *slash;

    snprintf(path, sizeof(path), "%s", name);
    while ((slash = strrchr(path, '/'))) {
        *slash = '\0';
        int dir = store_parent_open(folder, path, false, &leaf, &ignored);
        if (dir < 0)
            return;
        int rc = unlinkat(dir, leaf, AT_REMOVEDIR);
        close(dir);
        if (rc < 0)
            return;
    }
}

/* A file that does not exist counts as deleted. Any other failure of the file system is an error. */
static int delete_leaf(int dir, const char *leaf)
{
    struct stat st;

    if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || errno == ENAMETOOLONG ? 0 : -1;
    if (!S_ISREG(st.st_mode))
        return 0;
    if (unlinkat(dir, leaf, 0) < 0)
        return errno == ENOENT ? 0 : -1;
    return fsync(dir);
}

int store_object_delete(const struct store_folder *folder, const char *name, struct store_fault *fault)
{
    const char *leaf;
    int dir = store_parent_open(folder, name, false, &leaf, fault);

    if (dir < 0)
        return store_fault_forgive(fault, STORE_NO_SUCH_OBJECT);
    int rc = delete_leaf(dir, leaf);
    if (rc < 0)
        store_fault_errno(fault, errno, "the object cannot be deleted");
    close(dir);
    if (rc == 0)
        remove_empty_parents(folder, name);
    return rc;
}

/* ---- bodies ---- */

/* File systems that cannot reserve say so, and writing finds out. */
static int reserve(const struct store_draft *draft)
{
    int mode = draft->in_place ? FALLOC_FL_KEEP_SIZE : 0;

    if (draft->bytes == 0 || fallocate(draft->fd, mode, (off_t)draft->begin, (off_t)draft->bytes) == 0)
        return 0;
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINTR ? 0 : -1;
}

int store_draft_open(const struct store_folder *folder, struct store_draft *draft, struct store_fault *fault)
{
    int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | (draft->in_place ? 0 : O_CREAT | O_EXCL);

    draft->fd = openat(draft->dir, draft->file, flags, 0600);
    if (draft->fd >= 0 && draft->hashed)
        sha256_init(&draft->sha);
    if (draft->fd >= 0 && reserve(draft) == 0)
        return 0;
    store_write_fault(folder, errno, "the body cannot be stored", fault);
    store_draft_discard(draft);
    return -1;
}

int store_draft_begin(
    const struct store_folder *folder, uint64_t bytes, bool hashed, struct store_draft *ret, struct store_fault *fault)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    char tag[STORE_TAG_SIZE];

    draft.bytes = bytes;
    draft.hashed = hashed;
    draft.dir = fcntl(folder->uploads, F_DUPFD_CLOEXEC, 0);
    if (draft.dir < 0)
        return store_fault_errno(fault, errno, "too many open files");
    store_make_tag(tag);
    snprintf(draft.file, sizeof(draft.file), "%s.put", tag);
    if (store_draft_open(folder, &draft, fault) < 0)
        return -1;
    *ret = draft;
    return 0;
}

int store_draft_write(const struct store_folder *folder, struct store_draft *draft, const void *data, size_t len,
    struct store_fault *fault)
{
    if (len > draft->bytes - draft->written)
        return store_fault_set(fault, STORE_INTERNAL, "the body is longer than it said");
    if (draft->hashed)
        sha256_add(&draft->sha, data, len);
    for (size_t done = 0; done < len;) {
        ssize_t n =
            pwrite(draft->fd, (const char *)data + done, len - done, (off_t)(draft->begin + draft->written + done));
        if (n < 0 && errno != EINTR)
            return store_write_fault(folder, errno, "the body cannot be stored", fault);
        done += n > 0 ? (size_t)n : 0;
    }
    draft->written += len;
    return 0;
}

int store_draft_check(struct store_draft *draft, const char *sha256, struct store_fault *fault)
{
    char digest[65];

    if (draft->written != draft->bytes)
        return store_fault_set(fault, STORE_INTERNAL, "the body is shorter than it said");
    if (!*sha256)
        return 0;
    sha256_hex(&draft->sha, digest);
    if (!str_eq(digest, sha256))
        return store_fault_set(
            fault, STORE_DIGEST_MISMATCH, "X-Content-SHA256 is %s, the body's digest is %s", sha256, digest);
    return 0;
}

int store_publish(
    const struct store_folder *folder, int dir, const char *file, const char *name, struct store_fault *fault)
{
    const char *leaf = NULL;

    for (int tries = 1;; tries++) {
        int parent = store_parent_open(folder, name, true, &leaf, fault);
        if (parent < 0)
            return -1;
        int rc = renameat(dir, file, parent, leaf) < 0 || fsync(parent) < 0 ? -1 : 0;
        int saved = errno;
        struct stat st;
        bool lost_parent = rc < 0 && saved == ENOENT && fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) == 0;
        close(parent);
        if (rc == 0)
            return 0;
        if (!lost_parent || tries == PUBLISH_TRIES)
            return path_fault(folder, saved, true, name, fault);
    }
}

int store_draft_publish(
    const struct store_folder *folder, struct store_draft *draft, const char *name, struct store_fault *fault)
{
    if (fsync(draft->fd) < 0)
        return store_write_fault(folder, errno, "the body cannot be stored", fault);
    if (store_publish(folder, draft->dir, draft->file, name, fault) < 0)
        return -1;
    store_draft_close(draft);
    return 0;
}

void store_draft_discard(struct store_draft *draft)
{
    if (draft->fd >= 0 && !draft->in_place)
        unlinkat(draft->dir, draft->file, 0);
    store_draft_close(draft);
}

void store_draft_close(struct store_draft *draft)
{
    if (draft->fd >= 0)
        close(draft->fd);
    if (draft->dir >= 0)
        close(draft->dir);
    draft->fd = draft->dir = -1;
    sha256_release(&draft->sha);
}
