/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_upload.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/strbuf.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define ABOUT_FILE "upload"
#define DATA_FILE "data"
#define PARTS_FILE "parts"
#define ABOUT_MAX (STORE_NAME_SIZE + STORE_BOOT_SIZE + 8)
/* 10,000 lines of at most 50 bytes, each tried a few times. */
#define PARTS_MAX_BYTES ((size_t)(2 * KM_MIB))
#define COPY_BYTES ((size_t)(256 * KM_KIB))
#define REMOVE_TRIES 8

/* ---- small files in an upload's folder ---- */

static int read_file(int dir, const char *name, struct strbuf *out)
{
    char buffer[4096];
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -1;
    while ((n = read(fd, buffer, sizeof(buffer))) > 0)
        strbuf_add(out, buffer, (size_t)n);
    close(fd);
    return n < 0 || out->overflowed ? -1 : 0;
}

/* Whole or not at all: half a line is cut off again, and what a crash leaves of one is no line, as it has no end. */
static int append_line(int dir, const char *name, const char *line, size_t len)
{
    int fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;

    if (fd < 0)
        return -1;
    int rc = fstat(fd, &st);
    if (rc == 0 && (size_t)st.st_size + len > PARTS_MAX_BYTES) {
        errno = EFBIG;
        rc = -1;
    }
    ssize_t n = rc == 0 ? write(fd, line, len) : -1;
    int saved = n >= 0 ? ENOSPC : errno;
    if (n >= 0 && (size_t)n < len && ftruncate(fd, st.st_size) < 0)
        saved = errno;
    close(fd);
    errno = saved;
    return n == (ssize_t)len ? 0 : -1;
}

/* ---- the folder of an upload ---- */

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

static bool read_about(int dir, struct store_upload_entry *ret, char boot[static STORE_BOOT_SIZE])
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct stat st;

    strbuf_init(&text, ABOUT_MAX);
    if (read_file(dir, ABOUT_FILE, &text) < 0 || fstatat(dir, ABOUT_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    size_t name_len = strcspn(text.buf, "\n");
    const char *rest = text.buf + name_len;
    size_t boot_len = *rest ? strcspn(rest + 1, "\n") : 0;
    if (name_len >= STORE_NAME_SIZE || !*rest || boot_len >= STORE_BOOT_SIZE || rest[1 + boot_len] != '\n')
        return false;
    snprintf(ret->name, sizeof(ret->name), "%.*s", (int)name_len, text.buf);
    snprintf(boot, STORE_BOOT_SIZE, "%.*s", (int)boot_len, rest + 1);
    ret->begun_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return store_name_is_valid(ret->name);
}

static int open_upload(
    const struct store_folder *folder, const struct store_request *request, bool usable, struct store_fault *fault)
{
    struct store_upload_entry entry;
    char boot[STORE_BOOT_SIZE];
    int dir = openat(folder->uploads, request->upload_id, DIR_FLAGS);

    if (dir >= 0 && read_about(dir, &entry, boot) && str_eq(entry.name, request->name) &&
        (!usable || str_eq(boot, folder->boot_id)))
        return dir;
    if (dir >= 0)
        close(dir);
    return store_fault_set(fault, STORE_NO_SUCH_UPLOAD, "there is no such upload");
}

/* ---- beginning, aborting ---- */

static int make_upload(const struct store_folder *folder, const char *id, const char *name)
{
    char text[ABOUT_MAX];
    int len = snprintf(text, sizeof(text), "%s\n%s\n", name, folder->boot_id);

    if (mkdirat(folder->uploads, id, 0700) < 0)
        return -1;
    int dir = openat(folder->uploads, id, DIR_FLAGS);
    int rc = dir >= 0 ? append_line(dir, ABOUT_FILE, text, (size_t)len) : -1;
    int saved = errno;
    if (dir >= 0)
        close(dir);
    if (rc < 0)
        remove_flat(folder->uploads, id);
    errno = saved;
    return rc;
}

int store_upload_begin(
    const struct store_folder *folder, const char *name, char ret_id[static STORE_ID_SIZE], struct store_fault *fault)
{
    struct store_upload_entry *entries = NULL;
    size_t count = 0;
    char id[STORE_ID_SIZE];

    if (store_upload_list(folder, "", &entries, &count, fault) < 0)
        return -1;
    free(entries);
    if (count >= STORE_UPLOADS_MAX)
        return store_fault_set(fault, STORE_SLOW_DOWN, "%d uploads have been begun and not ended", STORE_UPLOADS_MAX);
    store_tag_make(id, sizeof(id));
    if (make_upload(folder, id, name) < 0)
        return store_write_fault(folder, errno, "the upload cannot be begun", fault);
    snprintf(ret_id, STORE_ID_SIZE, "%s", id);
    return 0;
}

int store_upload_abort(const struct store_folder *folder, const struct store_request *request, struct store_fault *fault)
{
    int dir = open_upload(folder, request, false, fault);

    if (dir < 0)
        return -1;
    close(dir);
    remove_flat(folder->uploads, request->upload_id);
    return 0;
}

/* ---- parts ---- */

static void part_file_name(int number, const char *tag, char *out, size_t size)
{
    snprintf(out, size, "%d-%s.part", number, tag);
}

int store_part_begin(const struct store_folder *folder, const struct store_request *request, uint64_t bytes,
    int64_t offset, struct store_draft *ret, struct store_fault *fault)
{
    struct store_draft draft = STORE_DRAFT_INIT;
    char tag[STORE_TAG_SIZE];

    draft.dir = open_upload(folder, request, true, fault);
    if (draft.dir < 0)
        return -1;
    store_tag_make(tag, sizeof(tag));
    draft.in_place = offset >= 0;
    draft.begin = offset >= 0 ? (uint64_t)offset : 0;
    draft.bytes = bytes;
    draft.hashed = *request->sha256 != '\0';
    if (draft.in_place)
        snprintf(draft.file, sizeof(draft.file), "%s", DATA_FILE);
    else
        part_file_name(request->part, tag, draft.file, sizeof(draft.file));
    if (store_draft_open(folder, &draft, fault) < 0)
        return -1;
    *ret = draft;
    return 0;
}

/* offset: in the data; -1: in a file of its own. */
static int write_down(int dir, int number, uint64_t bytes, const char *tag, int64_t offset)
{
    char line[96];
    int len =
        snprintf(line, sizeof(line), "\n%d %llu %s %lld;", number, (unsigned long long)bytes, tag, (long long)offset);

    return append_line(dir, PARTS_FILE, line, (size_t)len);
}

int store_part_finish(const struct store_folder *folder, struct store_draft *draft, const struct store_request *request,
    char *ret_etag, struct store_fault *fault)
{
    char tag[STORE_TAG_SIZE];
    const char *dash = strchr(draft->file, '-');

    if (store_draft_check(draft, request->sha256, fault) < 0)
        return -1;
    if (draft->in_place)
        store_tag_make(tag, sizeof(tag));
    else
        snprintf(tag, sizeof(tag), "%.16s", dash ? dash + 1 : "");
    /* Only begun, so that completing has less to wait for. */
    sync_file_range(draft->fd, (off_t)draft->begin, (off_t)draft->bytes, SYNC_FILE_RANGE_WRITE);
    if (faccessat(draft->dir, ABOUT_FILE, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return store_fault_set(fault, STORE_NO_SUCH_UPLOAD, "the upload was ended meanwhile");
    if (write_down(draft->dir, request->part, draft->bytes, tag, draft->in_place ? (int64_t)draft->begin : -1) < 0)
        return store_write_fault(folder, errno, "the part cannot be written down", fault);
    snprintf(ret_etag, STORE_ETAG_SIZE, "%s", tag);
    store_draft_close(draft);
    return 0;
}

/* ---- completing ---- */

struct record {
    uint64_t bytes;
    char tag[STORE_TAG_SIZE];
    int64_t offset; /* in the data; -1: in a file of its own */
    bool there;
};

/* What completes an upload. */
struct told {
    const struct store_part *parts;
    size_t count;
};

static bool is_told(const struct told *told, int number, const char *tag)
{
    return (size_t)number <= told->count && told->parts[number - 1].number == number &&
        str_eq(told->parts[number - 1].etag, tag);
}

/* The last line of a number counts, but for tries that ended behind the one that is told. */
static void read_record(const char *line, const struct told *told, struct record *records)
{
    struct record record = {.there = true};
    unsigned long long bytes;
    long long offset;
    int number;
    char end = '\0';

    /* NOLINTNEXTLINE(cert-err34-c): written by record_part only; what does not fit its form is left out */
    if (sscanf(line, "%d %llu %16[0-9a-f] %lld%c", &number, &bytes, record.tag, &offset, &end) != 5 || end != ';' ||
        number < 1 || number > STORE_PARTS_MAX)
        return;
    record.bytes = bytes;
    record.offset = offset;
    if (!is_told(told, number, records[number].tag) || is_told(told, number, record.tag))
        records[number] = record;
}

static int read_records(int dir, const struct told *told, struct record *records, struct store_fault *fault)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, PARTS_MAX_BYTES);
    if (read_file(dir, PARTS_FILE, &text) < 0 && errno != ENOENT)
        return store_fault_errno(fault, errno, "the list of the parts cannot be read");
    for (char *line = text.buf; line && *line;) {
        char *next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        read_record(line, told, records);
        line = next;
    }
    return 0;
}

static int check_parts(
    const struct record *records, const struct store_part *parts, size_t count, struct store_fault *fault)
{
    uint64_t unit = records[parts[0].number].bytes;

    for (size_t i = 0; i < count; i++) {
        const struct record *record = &records[parts[i].number];
        if (!record->there || !str_eq(record->tag, parts[i].etag))
            return store_fault_set(fault, STORE_INVALID_PART, "part %d is not there or not this one", parts[i].number);
        if (i + 1 < count ? record->bytes != unit : record->bytes > unit)
            return store_fault_set(fault, STORE_INVALID_PART,
                "part %d has %llu bytes, the first one %llu: all but the last must be equal here", parts[i].number,
                (unsigned long long)record->bytes, (unsigned long long)unit);
        if (record->offset >= 0 && (uint64_t)record->offset != i * unit)
            return store_fault_set(
                fault, STORE_INVALID_PART, "part 1 had another size when part %d was sent", parts[i].number);
        if (parts[i].number != (int)i + 1)
            return store_fault_set(fault, STORE_INVALID_PART, "part %d is missing", (int)i + 1);
    }
    return 0;
}

static int copy_slowly(int from, int to, off_t from_offset, off_t to_offset, uint64_t bytes)
{
    _cleanup_(freep) char *buffer = xmalloc(COPY_BYTES);

    while (bytes > 0) {
        ssize_t n = pread(from, buffer, (size_t)MIN_OF(bytes, COPY_BYTES), from_offset);
        if (n == 0)
            errno = EIO;
        if (n <= 0)
            return -1;
        for (ssize_t done = 0; done < n;) {
            ssize_t written = pwrite(to, buffer + done, (size_t)(n - done), to_offset + done);
            if (written < 0 && errno != EINTR)
                return -1;
            done += written > 0 ? written : 0;
        }
        from_offset += n;
        to_offset += n;
        bytes -= (uint64_t)n;
    }
    return 0;
}

static int copy_bytes(int from, int to, off_t to_offset, uint64_t bytes)
{
    off_t from_offset = 0;

    while (bytes > 0) {
        ssize_t n = copy_file_range(from, &from_offset, to, &to_offset, (size_t)bytes, 0);
        if (n <= 0)
            return copy_slowly(from, to, from_offset, to_offset, bytes);
        bytes -= (uint64_t)n;
    }
    return 0;
}

static int move_into_place(int dir, int data, const struct record *record, int number, uint64_t offset)
{
    char file[40];

    part_file_name(number, record->tag, file, sizeof(file));
    int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int rc = copy_bytes(fd, data, (off_t)offset, record->bytes);
    int saved = errno;
    close(fd);
    errno = saved;
    if (rc < 0 || write_down(dir, number, record->bytes, record->tag, (int64_t)offset) < 0)
        return -1;
    return unlinkat(dir, file, 0);
}

/* The bytes of parts that lie in it must be there: after a crash behind the rename they are not. */
static int open_data(int dir, const struct record *records, size_t count, uint64_t unit)
{
    uint64_t end = 0;
    struct stat st;

    for (size_t number = 1; number <= count; number++) {
        if (records[number].offset >= 0)
            end = (number - 1) * unit + records[number].bytes;
    }
    int fd = openat(dir, DATA_FILE, O_RDWR | O_NOFOLLOW | O_CLOEXEC | (end > 0 ? 0 : O_CREAT), 0600);
    if (fd < 0 || (fstat(fd, &st) == 0 && (uint64_t)st.st_size >= end))
        return fd;
    close(fd);
    errno = ENOENT;
    return -1;
}

static int assemble(const struct store_folder *folder, int dir, const struct record *records, size_t count,
    char *ret_etag, struct store_fault *fault)
{
    uint64_t unit = records[1].bytes;
    uint64_t total = (count - 1) * unit + records[count].bytes;
    struct stat st;
    int data = open_data(dir, records, count, unit);
    int rc = data < 0 ? -1 : 0;

    for (size_t number = 1; number <= count && rc == 0; number++) {
        if (records[number].offset < 0)
            rc = move_into_place(dir, data, &records[number], (int)number, (number - 1) * unit);
    }
    if (rc == 0)
        rc = ftruncate(data, (off_t)total) < 0 || fsync(data) < 0 || fstat(data, &st) < 0 ? -1 : 0;
    int saved = errno;
    if (data >= 0)
        close(data);
    if (rc < 0 && saved == ENOENT)
        return store_fault_set(fault, STORE_NO_SUCH_UPLOAD, "there is no such upload");
    if (rc < 0)
        return store_write_fault(folder, saved, "the parts cannot be joined", fault);
    store_etag_make(&st, ret_etag);
    return 0;
}

static int complete_in(const struct store_folder *folder, int dir, const struct store_part *parts, size_t count,
    const char *name, char *ret_etag, struct store_fault *fault)
{
    _cleanup_(freep) struct record *records = xnew_array(struct record, STORE_PARTS_MAX + 1);
    const struct told told = {parts, count};

    if (read_records(dir, &told, records, fault) < 0 || check_parts(records, parts, count, fault) < 0)
        return -1;
    if (assemble(folder, dir, records, count, ret_etag, fault) < 0)
        return -1;
    return store_publish(folder, dir, DATA_FILE, name, fault);
}

int store_upload_complete(const struct store_folder *folder, const struct store_request *request,
    const struct store_part *parts, size_t count, char *ret_etag, struct store_fault *fault)
{
    int dir = open_upload(folder, request, true, fault);

    if (dir < 0)
        return -1;
    int rc = complete_in(folder, dir, parts, count, request->name, ret_etag, fault);
    close(dir);
    if (rc == 0)
        remove_flat(folder->uploads, request->upload_id);
    return rc;
}

/* ---- all of them ---- */

static int compare_entries(const void *a, const void *b)
{
    const struct store_upload_entry *left = a;
    const struct store_upload_entry *right = b;
    int order = strcmp(left->name, right->name);

    return order ? order : strcmp(left->id, right->id);
}

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

int store_upload_list(const struct store_folder *folder, const char *prefix, struct store_upload_entry **ret,
    size_t *ret_count, struct store_fault *fault)
{
    struct store_upload_entry *entries = xnew_array(struct store_upload_entry, STORE_UPLOADS_MAX);
    char boot[STORE_BOOT_SIZE];
    size_t count = 0;
    DIR *stream = open_uploads(folder);

    if (!stream) {
        free(entries);
        return store_fault_errno(fault, errno, "the uploads cannot be listed");
    }
    for (struct dirent *found; count < STORE_UPLOADS_MAX && (found = readdir(stream));) {
        if (!is_upload_id(found->d_name))
            continue;
        int dir = openat(folder->uploads, found->d_name, DIR_FLAGS);
        snprintf(entries[count].id, STORE_ID_SIZE, "%s", found->d_name);
        if (dir >= 0 && read_about(dir, &entries[count], boot) && str_starts_with(entries[count].name, prefix))
            count++;
        if (dir >= 0)
            close(dir);
    }
    closedir(stream);
    qsort(entries, count, sizeof(entries[0]), compare_entries);
    *ret = entries;
    *ret_count = count;
    return 0;
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
    static const char *const files[] = {".", ABOUT_FILE, DATA_FILE, PARTS_FILE};
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
