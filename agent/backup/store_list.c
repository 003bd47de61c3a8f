/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/alloc.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct walk {
    const char *after;
    bool folders; /* told, and not what is in them */
    unsigned left;
    bool (*each)(void *arg, const struct store_entry *entry);
    void *arg;
    bool full; /* there was one more */
    struct store_fault *fault;
};

enum walked { WALK_ON, WALK_FULL, WALK_FAILED };

/* Of one folder. key: the name, with a slash behind it for a folder, because that is what its objects are sorted by. */
struct level {
    char *keys[2 * STORE_LIST_LEVEL];
    size_t count;
    bool cut;
};

static void level_release(struct level *level)
{
    for (size_t i = 0; i < level->count; i++)
        free(level->keys[i]);
    level->count = 0;
}

static void level_freep(struct level **level)
{
    if (*level)
        level_release(*level);
    free(*level);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void level_sort(struct level *level)
{
    qsort(level->keys, level->count, sizeof(level->keys[0]), compare_keys);
    for (; level->count > STORE_LIST_LEVEL; level->cut = true)
        free(level->keys[--level->count]);
}

enum kind { KIND_OTHER, KIND_FILE, KIND_FOLDER };

/* A name that was just removed is KIND_OTHER. Any other failure of fstatat is an error. */
static int read_kind(int dir, const struct dirent *entry, enum kind *ret)
{
    struct stat st = {.st_mode = DTTOIF(entry->d_type)};

    if (entry->d_type == DT_UNKNOWN && fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT)
        return -1;
    *ret = S_ISDIR(st.st_mode) ? KIND_FOLDER : S_ISREG(st.st_mode) ? KIND_FILE : KIND_OTHER;
    return 0;
}

static int level_add(struct level *level, int dir, const struct dirent *entry, const char *cursor)
{
    enum kind kind;

    if (read_kind(dir, entry, &kind) < 0)
        return -1;
    if (kind == KIND_OTHER)
        return 0;
    char *key = xasprintf("%s%s", entry->d_name, kind == KIND_FOLDER ? "/" : "");
    if (strcmp(key, cursor) <= 0)
        free(key);
    else
        level->keys[level->count++] = key;
    if (level->count == ARRAY_LEN(level->keys))
        level_sort(level);
    return 0;
}

/* The smallest keys behind `cursor` that begin with `start`. Returns all of them, or -1 with errno: clients would take
 * an object that is missing in a list for deleted. */
static int level_read(struct level *level, int dir, const char *start, const char *cursor)
{
    int fd = openat(dir, ".", DIR_FLAGS);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *entry;
    int rc = 0;

    level_release(level);
    level->cut = false;
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while (rc == 0 && (errno = 0, entry = readdir(stream))) {
        if (store_name_is_valid(entry->d_name) && str_starts_with(entry->d_name, start))
            rc = level_add(level, dir, entry, cursor);
    }
    int saved = errno;
    closedir(stream);
    level_sort(level);
    errno = saved;
    return rc == 0 && saved == 0 ? 0 : -1;
}

static enum walked walk_folder(struct walk *walk, int dir, const char *path, const char *start, unsigned depth);

static enum walked tell(struct walk *walk, const struct store_entry *entry)
{
    if (walk->left > 0 && walk->each(walk->arg, entry)) {
        walk->left--;
        return WALK_ON;
    }
    walk->full = true;
    return WALK_FULL;
}

static enum walked visit_file(struct walk *walk, int dir, const char *leaf, const char *name)
{
    struct store_entry entry = {.name = name};
    struct stat st = {.st_mode = 0};

    if (strcmp(name, walk->after) <= 0)
        return WALK_ON;
    if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno != ENOENT) {
        store_fault_errno(walk->fault, errno, "\"%.128s\" cannot be looked at", name);
        return WALK_FAILED;
    }
    if (!S_ISREG(st.st_mode))
        return WALK_ON; /* it has just gone */
    entry.bytes = (uint64_t)st.st_size;
    entry.modified_ms = (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
    return tell(walk, &entry);
}

/* Whether there is an object below it that has not been told. */
static enum walked look_below(struct walk *walk, int dir, const char *path, unsigned depth)
{
    struct walk probe = {.after = walk->after, .left = 0, .fault = walk->fault};

    return walk_folder(&probe, dir, path, "", depth);
}

static enum walked visit_folder(struct walk *walk, int dir, const char *leaf, const char *name, unsigned depth)
{
    struct store_entry entry = {.name = name, .is_folder = true};
    bool holds_after = str_starts_with(walk->after, name);
    enum walked result;

    if (!holds_after && strcmp(name, walk->after) < 0)
        return WALK_ON;
    if (walk->folders && str_eq(name, walk->after))
        return WALK_ON;
    if (depth == STORE_DEPTH_MAX)
        return WALK_ON; /* no name is so deep */
    _cleanup_(freep) char *segment = xstrndup(leaf, strlen(leaf) - 1);
    int inner = openat(dir, segment, DIR_FLAGS);
    if (inner < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP))
        return WALK_ON;
    if (inner < 0) {
        store_fault_errno(walk->fault, errno, "the folder of \"%.128s\" cannot be read", name);
        return WALK_FAILED;
    }
    if (walk->folders) {
        result = look_below(walk, inner, name, depth + 1);
        result = result == WALK_FULL ? tell(walk, &entry) : result;
    } else {
        result = walk_folder(walk, inner, name, "", depth + 1);
    }
    close(inner);
    return result;
}

static enum walked visit_level(struct walk *walk, int dir, const char *path, const struct level *level, unsigned depth)
{
    enum walked result = WALK_ON;

    for (size_t i = 0; i < level->count && result == WALK_ON; i++) {
        _cleanup_(freep) char *name = xasprintf("%s%s", path, level->keys[i]);
        bool folder = name[strlen(name) - 1] == '/';
        if (strlen(name) >= STORE_NAME_SIZE)
            continue;
        result =
            folder ? visit_folder(walk, dir, level->keys[i], name, depth) : visit_file(walk, dir, level->keys[i], name);
    }
    return result;
}

/* path: "" or with a slash at its end. start: what names in this folder begin with. Calls itself through visit_folder,
 * at most STORE_DEPTH_MAX deep. */
static enum walked walk_folder( // NOLINT(misc-no-recursion): folders lie in folders
    struct walk *walk, int dir, const char *path, const char *start, unsigned depth)
{
    _cleanup_(level_freep) struct level *level = xnew(struct level);
    char cursor[STORE_SEGMENT_MAX + 2] = "";
    enum walked result;

    do {
        if (level_read(level, dir, start, cursor) < 0) {
            store_fault_errno(walk->fault, errno, "the folder \"%.128s\" cannot be read", path);
            return WALK_FAILED;
        }
        result = visit_level(walk, dir, path, level, depth);
        if (level->count > 0)
            snprintf(cursor, sizeof(cursor), "%s", level->keys[level->count - 1]);
    } while (result == WALK_ON && level->cut);
    return result;
}

int store_list(const struct store_folder *folder, const struct store_list_query *query,
    bool (*each)(void *arg, const struct store_entry *entry), void *arg, bool *ret_truncated, struct store_fault *fault)
{
    struct walk walk = {
        .after = query->after, .folders = query->folders, .left = query->max, .each = each, .arg = arg, .fault = fault};
    const char *start;
    int dir = store_parent_open(folder, query->prefix, false, &start, fault);

    *ret_truncated = false;
    if (dir < 0)
        return store_fault_forgive(fault, STORE_NO_SUCH_OBJECT);
    _cleanup_(freep) char *path = xstrndup(query->prefix, (size_t)(start - query->prefix));
    enum walked result = query->max > 0 ? walk_folder(&walk, dir, path, start, 0) : WALK_ON;
    close(dir);
    *ret_truncated = walk.full;
    return result == WALK_FAILED ? -1 : 0;
}
