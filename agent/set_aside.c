/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/set_aside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/backup/binlog_tail.h"
#include "agent/gtid_loss_note.h"
#include "agent/set_aside_beyond.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/json_fields.h"
#include "common/log.h"
#include "common/position.h"
#include "common/strbuf.h"
#include "common/strvec.h"

#define LIST_NAME "transactions.txt"
#define TAKEN_BACK_NAME "taken-back.txt"
#define TAIL_NAME "binlog.000001"
#define SUMMARY_PREFIX "# transactions: "
#define ERRANT_PREFIX "# not at the source: "
#define RAW_PREFIX "# the newest binary logs are kept as they are: "
#define NO_ROOM_PREFIX "# no room for "
#define MORE_PREFIX "# and "
#define LOST_PREFIX "# the GTID position was set back by hand: "
#define ERRANT_UNKNOWN "not known exactly"
#define END_PREFIX "# end of the binary logs: "
/* GTIDs of a set that is full take about as much; the rest is counted. */
#define LIST_MAX (8 * KM_MIB)
/* Of logs that cannot be taken apart. */
#define RAW_LEAST_BYTES ((uint64_t)(4 * KM_MIB))
#define UNFINISHED_PREFIX ".new-"

/* ---- what is there ---- */

static char *top_dir(const struct agent_paths *paths)
{
    return xasprintf("%s/set-aside", paths->state_dir);
}

/* Names sort by time. */
static void list_sets(const char *top, bool unfinished, struct strvec *ret)
{
    DIR *dir = opendir(top);

    if (!dir)
        return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        bool is_new = str_starts_with(entry->d_name, UNFINISHED_PREFIX);
        if (unfinished ? is_new : entry->d_name[0] != '.')
            strvec_push(ret, entry->d_name);
    }
    closedir(dir);
    strvec_sort(ret);
}

static uint64_t bytes_of(const char *top, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", top, name);
    DIR *dir = opendir(path);
    uint64_t bytes = 0;

    if (!dir)
        return 0;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        struct stat st;
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            bytes += (uint64_t)st.st_size;
    }
    closedir(dir);
    return bytes;
}

static int remove_set(const char *top, const char *name, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", top, name);

    return fs_remove_all(path, err);
}

/* Room for one more of that size. */
static int retire(const char *top, uint64_t bytes, struct error *err)
{
    _cleanup_(strvec_release) struct strvec sets;
    uint64_t sum = bytes;

    strvec_init(&sets);
    list_sets(top, false, &sets);
    for (size_t i = 0; i < sets.n; i++)
        sum += bytes_of(top, sets.v[i]);
    for (size_t i = 0; i < sets.n; i++) {
        if (sets.n - i < SET_ASIDE_SETS_MAX && sum <= SET_ASIDE_SUM_MAX)
            break;
        sum -= bytes_of(top, sets.v[i]);
        log_warn("an old set of transactions set aside makes room for another one", LOG_STR("folder", sets.v[i]));
        if (remove_set(top, sets.v[i], err) < 0)
            return -1;
    }
    return 0;
}

static int remove_unfinished(const char *top, struct error *err)
{
    _cleanup_(strvec_release) struct strvec sets;

    strvec_init(&sets);
    list_sets(top, true, &sets);
    for (size_t i = 0; i < sets.n; i++) {
        if (remove_set(top, sets.v[i], err) < 0)
            return -1;
    }
    return 0;
}

static bool is_taken_back(const char *top, const char *name)
{
    _cleanup_(freep) char *mark = xasprintf("%s/%s/" TAKEN_BACK_NAME, top, name);

    return access(mark, F_OK) == 0;
}

/* By the first line of its list. */
static void summarize(const char *top, const char *name, char ret[static AGENT_SET_ASIDE_SIZE])
{
    char line[AGENT_SET_ASIDE_SIZE + sizeof(SUMMARY_PREFIX)] = "";
    _cleanup_(freep) char *path = xasprintf("%s/%s/" LIST_NAME, top, name);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, sizeof(line), file) != NULL;

    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    const char *what = read && str_starts_with(line, SUMMARY_PREFIX) ? line + strlen(SUMMARY_PREFIX) : "?";
    _cleanup_(freep) char *text = xasprintf("%s: %s", name, what);
    json_copy_text(ret, AGENT_SET_ASIDE_SIZE, text);
}

void set_aside_list(const struct agent_paths *paths, struct agent_set_asides *ret)
{
    _cleanup_(freep) char *top = top_dir(paths);
    _cleanup_(strvec_release) struct strvec sets;
    size_t count = 0;

    *ret = (struct agent_set_asides){.more = 0};
    strvec_init(&sets);
    list_sets(top, false, &sets);
    for (size_t i = sets.n; i-- > 0;) {
        if (is_taken_back(top, sets.v[i]))
            continue;
        if (count < ARRAY_LEN(ret->sets))
            summarize(top, sets.v[i], ret->sets[count++]);
        else
            ret->more++;
    }
}

/* ---- files of a set ---- */

/* How much a set may take, and how much of the volume it may take. */
struct bounds {
    uint64_t max, room;
};

static int sync_close(FILE *file, const char *path, struct error *err)
{
    bool bad = fflush(file) != 0 || fsync(fileno(file)) < 0;
    int errnum = errno;

    if (fclose(file) != 0 && !bad) {
        bad = true;
        errnum = errno;
    }
    return bad ? error_set_errno(err, errnum, "writing %s", path) : 0;
}

/* What stdio hands to the kernel at once it does not keep: fflush() knows nothing of it if that fails. */
static int write_bytes(FILE *file, const void *data, size_t len, const char *path, struct error *err)
{
    return fwrite(data, 1, len, file) == len ? 0 : error_set_errno(err, errno, "writing %s", path);
}

static FILE *create(const char *path, struct error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        error_set_errno(err, errno, "creating %s", path);
    return file;
}

static int write_tail(struct binlog_tail *tail, const char *dir, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/" TAIL_NAME, dir);
    _cleanup_(freep) char *buffer = xmalloc((size_t)(64 * KM_KIB));
    FILE *file = create(path, err);
    ssize_t n = 0;

    if (!file)
        return -1;
    while ((n = binlog_tail_read(tail, buffer, (size_t)(64 * KM_KIB), err)) > 0) {
        if (write_bytes(file, buffer, (size_t)n, path, err) < 0)
            break;
    }
    if (n != 0) {
        fclose(file);
        return -1;
    }
    return sync_close(file, path, err);
}

static int copy_bytes(
    FILE *in, FILE *out, uint64_t max, const char *from, const char *to, uint64_t *ret_bytes, struct error *err)
{
    char buffer[16 * KM_KIB];
    struct stat st;
    size_t n;

    if (fstat(fileno(in), &st) < 0 || ((uint64_t)st.st_size > max && fseeko(in, st.st_size - (off_t)max, SEEK_SET) < 0))
        return error_set_errno(err, errno, "reading %s", from);
    while (*ret_bytes < max && (n = fread(buffer, 1, sizeof(buffer), in)) > 0) {
        if (write_bytes(out, buffer, n, to, err) < 0)
            return -1;
        *ret_bytes += n;
    }
    return ferror(in) ? error_set_errno(err, errno, "reading %s", from) : 0;
}

/* The end of a file that is too long is what is newest. */
static int copy_end(const char *from, const char *to, uint64_t max, uint64_t *ret_bytes, struct error *err)
{
    FILE *in = fopen(from, "re");

    *ret_bytes = 0;
    if (!in)
        return error_set_errno(err, errno, "opening %s", from);
    FILE *out = create(to, err);
    int rc = out ? copy_bytes(in, out, max, from, to, ret_bytes, err) : -1;
    fclose(in);
    if (rc == 0)
        return sync_close(out, to, err);
    if (out)
        fclose(out);
    return -1;
}

/* What is errant is at the end of the newest one. */
static int check_raw(const char *newest, const struct bounds *bounds, struct error *err)
{
    struct stat st;

    if (stat(newest, &st) < 0)
        return error_set_errno(err, errno, "reading %s", newest);
    uint64_t least = MIN_OF((uint64_t)st.st_size, RAW_LEAST_BYTES);
    return bounds->max >= least || bounds->max < bounds->room
        ? 0
        : error_set(err, ERROR_TOO_LARGE,
              "%llu bytes of the newest binary log are to be kept, and there is room for %llu",
              (unsigned long long)least, (unsigned long long)bounds->room);
}

static int write_raw(const struct set_aside_wish *wish, const struct bounds *bounds, const char *dir, struct error *err)
{
    _cleanup_(strvec_release) struct strvec names;
    uint64_t max = bounds->max;
    uint64_t bytes = 0;

    strvec_init(&names);
    if (binlog_tail_files(wish->paths->data_dir, &names, err) < 0 ||
        (names.n > 0 && check_raw(names.v[names.n - 1], bounds, err) < 0))
        return -1;
    for (size_t i = names.n; i-- > 0 && max > 0; max -= MIN_OF(max, bytes)) {
        _cleanup_(freep) char *to = xasprintf("%s/raw.%s", dir, strrchr(names.v[i], '/') + 1);
        if (copy_end(names.v[i], to, max, &bytes, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- the list ---- */

struct list {
    enum gtid_flavour flavour;
    struct strbuf text;
    uint64_t left;
};

static void list_one(void *arg, const struct gtid_one *gtid)
{
    struct list *list = arg;

    if (list->text.len > LIST_MAX) {
        list->left++;
        return;
    }
    gtid_one_print(list->flavour, gtid, &list->text);
    strbuf_addc(&list->text, '\n');
}

static int write_list(const struct set_aside_wish *wish, const struct binlog_tail *tail, const char *why_raw,
    const char *what, const char *dir, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/" LIST_NAME, dir);
    struct list list = {
        .flavour = agent_gtid_flavour(wish->flavour),
    };

    strbuf_init(&list.text, LIST_MAX + 64 * KM_KIB);
    strbuf_addf(&list.text, SUMMARY_PREFIX "%s\n# reason: %s\n# epoch: %llu\n" ERRANT_PREFIX "%s\n", what, wish->reason,
        (unsigned long long)wish->epoch, *wish->errant ? wish->errant : ERRANT_UNKNOWN);
    if (wish->end)
        strbuf_addf(&list.text, END_PREFIX "%016llx\n", (unsigned long long)wish->end);
    if (wish->is_lost)
        strbuf_addf(&list.text, LOST_PREFIX "these numbers may be those of other transactions elsewhere\n");
    if (why_raw)
        strbuf_addf(&list.text, RAW_PREFIX "%s\n", why_raw);
    if (tail && binlog_tail_left_out(tail))
        strbuf_addf(&list.text, NO_ROOM_PREFIX "%llu older ones\n", (unsigned long long)binlog_tail_left_out(tail));
    if (tail)
        binlog_tail_each(tail, list_one, &list);
    if (list.left)
        strbuf_addf(&list.text, MORE_PREFIX "%llu more\n", (unsigned long long)list.left);
    int rc = fs_write_file_atomic(path, list.text.buf, list.text.len, 0600, err);
    strbuf_release(&list.text);
    return rc;
}

/* ---- a set ---- */

static char *name_of(const struct set_aside_wish *wish)
{
    char time[CLOCK_RFC3339_SIZE];

    clock_format_rfc3339(clock_realtime_ms(), time);
    for (char *c = time; *c; c++) {
        if (*c == ':')
            *c = '-'; /* folders of that name can be copied everywhere */
    }
    return xasprintf("%s-epoch%llu", time, (unsigned long long)wish->epoch);
}

static int find_bounds(const struct set_aside_wish *wish, struct bounds *ret, struct error *err)
{
    uint64_t free_bytes = 0;
    uint64_t total = 0;

    if (fs_space(wish->paths->volume_dir, &free_bytes, &total, err) < 0)
        return -1;
    ret->room = wish->room_bytes ? wish->room_bytes : free_bytes / 3;
    ret->max = MIN_OF(wish->max_bytes ? wish->max_bytes : SET_ASIDE_MAX_BYTES, ret->room);
    return 0;
}

static int check_room(const struct set_aside_wish *wish, struct error *err)
{
    struct bounds bounds;

    if (find_bounds(wish, &bounds, err) < 0)
        return -1;
    return bounds.max >= wish->min_bytes
        ? 0
        : error_set(err, ERROR_TOO_LARGE, "%llu bytes are to be kept, and there is room for %llu",
              (unsigned long long)wish->min_bytes, (unsigned long long)bounds.max);
}

/* It names what the others lack, and nothing else: a MySQL set, or a MariaDB position from which on they lack all. */
static bool is_exact(const struct set_aside_wish *wish)
{
    return wish->flavour == AGENT_FLAVOUR_MARIADB ? !str_empty(wish->behind)
                                                  : *wish->errant && position_is_whole(wish->errant);
}

static int check_tail(
    const struct set_aside_wish *wish, const struct binlog_tail *tail, const struct bounds *bounds, struct error *err)
{
    uint64_t left_out = binlog_tail_left_out(tail);
    bool is_for_room = bounds->max == bounds->room;

    if (left_out == 0 || !is_for_room || (binlog_tail_count(tail) > 0 && !is_exact(wish)))
        return 0;
    return error_set(err, ERROR_TOO_LARGE, "%llu transactions have no room: they may take %llu bytes of the volume",
        (unsigned long long)left_out, (unsigned long long)bounds->room);
}

/* Errant texts of a status are cut where they are long: then all that is new is kept. */
static struct binlog_tail *plan_tail(const struct set_aside_wish *wish, uint64_t max, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *behind =
        gtid_set_parse(agent_gtid_flavour(wish->flavour), str_or_empty(wish->behind), NULL);
    struct binlog_wish plan = {
        .data_dir = wish->paths->data_dir,
        .behind = behind,
        .flavour = agent_gtid_flavour(wish->flavour),
        .choice = BINLOG_NEWEST,
        .gtids = position_is_whole(wish->errant) ? wish->errant : "",
        .max_bytes = max,
    };

    return binlog_tail_plan(&plan, err);
}

static void describe(const struct set_aside_wish *wish, const struct binlog_tail *tail, struct strbuf *out)
{
    if (*wish->errant)
        strbuf_adds(out, wish->errant);
    else if (tail)
        gtid_set_print(binlog_tail_set(tail), out);
    strbuf_adds(out, out->len ? "" : "not known");
    if (tail && binlog_tail_left_out(tail))
        strbuf_adds(out, " (cut)");
}

static int fill(const struct set_aside_wish *wish, const char *dir, struct strbuf *what, struct error *err)
{
    struct error why = ERROR_INIT;
    struct bounds bounds;

    if (find_bounds(wish, &bounds, err) < 0)
        return -1;
    _cleanup_(binlog_tail_freep) struct binlog_tail *tail = plan_tail(wish, bounds.max, &why);
    if (!tail)
        log_warn("binary logs are set aside as they are", LOG_ERR(&why));
    if (tail && check_tail(wish, tail, &bounds, err) < 0)
        return -1;
    describe(wish, tail, what);
    int rc = tail ? write_tail(tail, dir, err) : write_raw(wish, &bounds, dir, err);
    if (rc < 0 || write_list(wish, tail, tail ? NULL : why.message, what->buf, dir, err) < 0)
        return -1;
    log_warn("transactions are set aside", LOG_STR("what", what->buf), LOG_STR("reason", wish->reason),
        LOG_INT("leftOut", tail ? (int64_t)binlog_tail_left_out(tail) : 0));
    return fs_fsync_dir(dir, err);
}

/* ---- once is enough ---- */

/* Whether a line of the list's beginning, before the first transaction, is this one. */
static bool has_line(const char *text, const char *prefix, const char *rest)
{
    _cleanup_(freep) char *line = xasprintf("\n%s%s\n", prefix, rest);

    return strstr(text, line) != NULL;
}

/* An attempt that is repeated, or follows a member that was marked, must not push out older sets by copies of one. */
static bool is_there(const struct set_aside_wish *wish, const char *top, const char *name)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s/" LIST_NAME, top, name);
    _cleanup_(strbuf_release) struct strbuf text;
    char end[17];

    strbuf_init(&text, LIST_MAX + 64 * KM_KIB);
    snprintf(end, sizeof(end), "%016llx", (unsigned long long)wish->end);
    return fs_read_file(path, &text, NULL) == 0 && has_line(text.buf, END_PREFIX, end) &&
        has_line(text.buf, ERRANT_PREFIX, *wish->errant ? wish->errant : ERRANT_UNKNOWN);
}

static bool is_newest(const struct set_aside_wish *wish, const char *top)
{
    _cleanup_(strvec_release) struct strvec sets;

    strvec_init(&sets);
    list_sets(top, false, &sets);
    return wish->end && sets.n > 0 && is_there(wish, top, sets.v[sets.n - 1]);
}

static bool is_same_file(struct binlog_tail *tail, const char *path)
{
    _cleanup_(freep) char *here = xmalloc((size_t)(64 * KM_KIB));
    _cleanup_(freep) char *there = xmalloc((size_t)(64 * KM_KIB));
    FILE *file = fopen(path, "re");
    ssize_t n = 0;
    bool same = file != NULL;

    while (same && (n = binlog_tail_read(tail, here, (size_t)(64 * KM_KIB), NULL)) > 0)
        same = fread(there, 1, (size_t)n, file) == (size_t)n && memcmp(here, there, (size_t)n) == 0;
    same = same && n == 0 && fgetc(file) == EOF;
    if (file)
        fclose(file);
    return same;
}

/* A server that runs on between two attempts receives more of its source, so the logs end elsewhere: what would be kept
 * is compared with what is, byte by byte. */
static bool holds_newest(const struct set_aside_wish *wish, const char *top)
{
    _cleanup_(strvec_release) struct strvec sets;
    struct bounds bounds;

    strvec_init(&sets);
    list_sets(top, false, &sets);
    if (sets.n == 0 || is_taken_back(top, sets.v[sets.n - 1]) || find_bounds(wish, &bounds, NULL) < 0)
        return false;
    _cleanup_(freep) char *path = xasprintf("%s/%s/" TAIL_NAME, top, sets.v[sets.n - 1]);
    _cleanup_(binlog_tail_freep) struct binlog_tail *tail = fs_exists(path) ? plan_tail(wish, bounds.max, NULL) : NULL;
    return tail && binlog_tail_count(tail) > 0 && binlog_tail_left_out(tail) == 0 && is_same_file(tail, path);
}

static int make(const struct set_aside_wish *wish, struct agent_set_asides *ret, struct error *err)
{
    _cleanup_(freep) char *top = top_dir(wish->paths);
    _cleanup_(freep) char *name = name_of(wish);
    _cleanup_(freep) char *unfinished = xasprintf("%s/" UNFINISHED_PREFIX "%s", top, name);
    _cleanup_(freep) char *path = xasprintf("%s/%s", top, name);
    _cleanup_(strbuf_release) struct strbuf what;

    strbuf_init(&what, GTID_TEXT_MAX);
    if (is_newest(wish, top) || holds_newest(wish, top)) {
        set_aside_list(wish->paths, ret);
        return 0;
    }
    if (check_room(wish, err) < 0 || fs_mkdir_all(top, 0700, err) < 0 || remove_unfinished(top, err) < 0 ||
        retire(top, SET_ASIDE_MAX_BYTES, err) < 0 || fs_mkdir_all(unfinished, 0700, err) < 0)
        return -1;
    if (fill(wish, unfinished, &what, err) < 0)
        return -1;
    /* Twice within a second: the older one is the same. */
    if (fs_remove_all(path, err) < 0)
        return -1;
    if (rename(unfinished, path) < 0)
        return error_set_errno(err, errno, "renaming %s", unfinished);
    if (fs_fsync_dir(top, err) < 0 || fs_fsync_dir(wish->paths->state_dir, err) < 0)
        return -1;
    set_aside_list(wish->paths, ret);
    return 0;
}

int set_aside_make(const struct set_aside_wish *wish, struct agent_set_asides *ret, struct error *err)
{
    struct set_aside_wish whole = *wish;
    const struct gtids_lost lost = gtid_loss_note_read(wish->paths);

    whole.is_lost = lost.is_lost;
    if (lost.was_open) {
        whole.errant = "";
        whole.behind = NULL;
    }
    if (!whole.end)
        whole.end = set_aside_beyond_end(wish->paths->data_dir, agent_gtid_flavour(wish->flavour));
    return make(&whole, ret, err);
}

int set_aside_before_replacing(const struct agent_paths *paths, enum agent_flavour flavour, uint64_t epoch,
    const char *theirs, struct agent_set_asides *ret, struct error *err)
{
    struct set_aside_beyond beyond;

    set_aside_beyond_find(paths->data_dir, agent_gtid_flavour(flavour), theirs, &beyond);
    const struct set_aside_wish wish = {
        .paths = paths,
        .flavour = flavour,
        .epoch = epoch,
        .errant = beyond.gtids.buf,
        .behind = beyond.shared.buf,
        .end = beyond.end,
        .reason = "the data is replaced by a copy of another member's",
    };
    bool nothing = beyond.known && beyond.gtids.len == 0 && !gtid_loss_note_read(paths).was_open;
    if (nothing)
        set_aside_list(paths, ret);
    int rc = nothing ? 0 : set_aside_make(&wish, ret, err);
    set_aside_beyond_release(&beyond);
    return rc;
}

/* ---- judged again ---- */

static bool says_that_more_is_there(const char *line)
{
    return str_starts_with(line, RAW_PREFIX) || str_starts_with(line, NO_ROOM_PREFIX) ||
        str_starts_with(line, MORE_PREFIX);
}

/* What the lines name. MySQL: as a set, since thousands of them may be a few intervals. */
struct named {
    enum agent_flavour flavour;
    struct gtid_set *set;
    struct strbuf *out;
};

static int add_to_set(const char *line, struct gtid_set *set, struct error *err)
{
    _cleanup_(gtid_set_freep) struct gtid_set *one = gtid_set_parse(GTID_MYSQL, line, NULL);

    if (!one)
        return error_set(err, ERROR_INVALID, "a line names no transaction (%.80s)", line);
    gtid_set_unite(set, one);
    return 0;
}

static int add_line(const char *line, const struct named *named, struct error *err)
{
    if (says_that_more_is_there(line))
        return error_set(err, ERROR_INVALID, "it is not listed as a whole (%.80s)", line + 2);
    if (str_starts_with(line, LOST_PREFIX))
        return error_set(err, ERROR_INVALID, "its numbers prove nothing (%.80s)", line + 2);
    if (*line == '#' || !*line)
        return 0;
    if (named->flavour != AGENT_FLAVOUR_MARIADB)
        return add_to_set(line, named->set, err);
    strbuf_addf(named->out, "%s%s", named->out->len == 0 ? "" : "\n", line);
    return 0;
}

int set_aside_gtids(const struct agent_paths *paths, const char *folder, enum agent_flavour flavour, struct strbuf *ret,
    struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/set-aside/%s/" LIST_NAME, paths->state_dir, folder);
    _cleanup_(gtid_set_freep) struct gtid_set *set = gtid_set_new(GTID_MYSQL);
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(strvec_release) struct strvec lines;
    const struct named named = {.flavour = flavour, .set = set, .out = ret};

    strbuf_init(&text, LIST_MAX + 64 * KM_KIB);
    strvec_init(&lines);
    if (fs_read_file(path, &text, err) < 0)
        return -1;
    strvec_split(&lines, text.buf, "\n");
    for (size_t i = 0; i < lines.n; i++) {
        if (add_line(lines.v[i], &named, err) < 0)
            return -1;
    }
    if (!gtid_set_is_empty(set))
        gtid_set_print(set, ret);
    if (ret->overflowed)
        return error_set(err, ERROR_INVALID, "there are too many transactions");
    return ret->len > 0 ? 0 : error_set(err, ERROR_INVALID, "no transaction is listed");
}

int set_aside_take_back(const struct agent_paths *paths, const char *folder, uint64_t epoch, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/set-aside/%s/" TAKEN_BACK_NAME, paths->state_dir, folder);
    _cleanup_(freep) char *text = xasprintf("the primary of epoch %llu has all of it\n", (unsigned long long)epoch);

    return fs_write_file_atomic(path, text, strlen(text), 0600, err);
}
