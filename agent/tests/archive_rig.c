/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/archive_rig.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "common/alloc.h"
#include "common/backup_pack.h"
#include "common/clock.h"
#include "common/fs.h"
#include "common/strvec.h"
#include "common/subprocess.h"
#include "common/tls.h"

#define FOLDER "prod/demo/binlogs/u-1"
#define SEGMENTS_MAX 4096
#define LOG_MAX ((size_t)(256 * KM_MIB))

void gtid_list_release(struct gtid_list *list)
{
    free(list->v);
    *list = (struct gtid_list){0};
}

static void gtid_list_add(struct gtid_list *list, const struct gtid_one *one)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity ? list->capacity * 2 : 1024;
        list->v = xreallocarray(list->v, list->capacity, sizeof(*list->v));
    }
    list->v[list->n++] = *one;
}

/* ---- life ---- */

static void copy_file(const struct agent_rig *from, const struct agent_rig *to, const char *name)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, KM_MIB);
    assert_int_equal(fs_read_file(agent_rig_path(from, name), &text, NULL), 0);
    agent_rig_put(to, name, text.buf);
}

static void fill_task(struct archive_rig *rig)
{
    struct archive_task *task = &rig->task;

    *task =
        (struct archive_task){.ns = "prod", .cluster = "demo", .cluster_uid = "u-1", .interval_s = 1, .sealed = true};
    task->folder = xstrdup(FOLDER);
    task->key[0] = 7;
    task->store.is_volume = task->store.path_style = true;
    task->store.bucket = xstrdup("backup");
    task->store.endpoint = xasprintf("https://localhost:%u", rig->store->tls_port);
    task->store.connect_to = xasprintf("127.0.0.1:%u", rig->store->tls_port);
    task->store.server_name = xstrdup("localhost");
}

void archive_rig_start_store(struct archive_rig *rig)
{
    rig->store_process = agent_rig_start(rig->store, "store");
    assert_true(agent_rig_await(rig->store, "/ready", 200, 20000));
}

struct archive_rig *archive_rig_new(const char *root)
{
    static const char *const files[] = {"tls/ca.crt", "tls/tls.crt", "tls/tls.key", "operator.crt", "operator.key"};
    struct archive_rig *rig = xnew(struct archive_rig);

    rig->flavour = root ? GTID_MYSQL : GTID_MARIADB;
    rig->members = replication_rig_new(root);
    rig->store = agent_rig_new();
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        copy_file(rig->members->members[0].rig, rig->store, files[i]);
    archive_rig_start_store(rig);
    fill_task(rig);
    for (unsigned i = 0; i < MEMBERS; i++)
        assert_true(agent_rig_await(rig->members->members[i].rig, "/startup", 200, 60000));
    replication_rig_form(rig->members);
    return rig;
}

void archive_rig_free(struct archive_rig *rig)
{
    agent_rig_kill(&rig->store_process);
    agent_rig_free(rig->store);
    replication_rig_free(rig->members);
    archive_task_release(&rig->task);
    archive_memory_release(&rig->memory);
    archive_memory_release(&rig->said);
    free(rig);
}

/* ---- a round ---- */

struct child {
    struct strbuf line;
    struct archive_word word;
    bool ended;
    int exit_code;
};

static void on_data(void *arg, const char *data, size_t len)
{
    struct child *child = arg;

    for (size_t i = 0; i < len; i++) {
        strbuf_addc(&child->line, data[i]);
        if (data[i] != '\n')
            continue;
        archive_memory_release(&child->word.memory);
        assert_int_equal(archive_word_decode(child->line.buf, child->line.len, &child->word, NULL), 0);
        strbuf_reset(&child->line);
    }
}

static void on_line(void *arg, const char *line)
{
    UNUSED(arg);
    printf("  %s\n", line);
}

static void on_exited(void *arg, const struct subprocess_result *result)
{
    struct child *child = arg;

    child->ended = true;
    child->exit_code = result->exit_code;
}

static void say(struct archive_rig *rig, unsigned member, struct subprocess *process)
{
    struct archive_order order = {
        .epoch = rig->members->epoch, .named_after_ms = rig->named_after_ms, .memory = rig->memory};
    _cleanup_(strbuf_release) struct strbuf executed;
    struct strbuf words;

    snprintf(order.writer, sizeof(order.writer), "demo-mysql-%u", member);
    snprintf(order.flavour, sizeof(order.flavour), "%s", rig->flavour == GTID_MARIADB ? "mariadb" : "mysql");
    strbuf_init(&executed, POSITION_TEXT_MAX);
    if (rig->flavour == GTID_MYSQL) {
        assert_true(member_sql(rig->members, member, "SELECT REPLACE(@@global.gtid_executed, '\n', '')", &executed));
        strbuf_truncate(&executed, strcspn(executed.buf, "\n"));
        order.executed = executed.buf;
    }
    strbuf_init(&words, ARCHIVE_TASK_MAX + ARCHIVE_WORD_MAX);
    archive_task_encode(&rig->task, &words);
    strbuf_addc(&words, '\n');
    archive_order_encode(&order, &words);
    assert_int_equal(subprocess_control(process, words.buf, words.len), 0);
    strbuf_release_secret(&words);
}

bool archive_rig_round(struct archive_rig *rig, unsigned member, int kill_ms, struct archive_word *ret)
{
    static const struct subprocess_ops ops = {.stdout_data = on_data, .stderr_line = on_line, .exited = on_exited};
    const struct agent_rig *pod = rig->members->members[member].rig;
    _cleanup_(freep) char *tls = xasprintf("--tls-dir=%s/tls", pod->dir);
    _cleanup_(freep) char *volume = xasprintf("--data-volume=%s/vol", pod->dir);
    const char *argv[] = {pod->binary, "archive", tls, volume, "--log-format=text", NULL};
    struct subprocess_options options = {.argv = argv, .control_pipe = true};
    struct child child = {0};
    int64_t began_ms = clock_monotonic_ms();

    strbuf_init(&child.line, ARCHIVE_WORD_MAX);
    struct subprocess *process = subprocess_start(rig->members->loop, &options, &ops, &child, NULL);
    assert_non_null(process);
    say(rig, member, process);
    while (!child.ended) {
        loop_run_once(rig->members->loop, 5);
        if (kill_ms >= 0 && clock_monotonic_ms() - began_ms >= kill_ms) {
            subprocess_kill(process, SIGKILL);
            kill_ms = -1;
        }
        assert_true(clock_monotonic_ms() - began_ms < 120000);
    }
    subprocess_free(process);
    strbuf_release(&child.line);
    bool well = child.exit_code == 0 && child.word.ended;
    rig->rounds++;
    rig->killed += child.exit_code < 0;
    rig->named_after_ms = clock_realtime_ms();
    archive_memory_release(&rig->memory);
    if (well)
        archive_memory_keep(&rig->memory, &child.word.memory);
    archive_memory_release(&rig->said);
    rig->said = child.word.memory;
    *ret = child.word;
    return well;
}

void archive_rig_catch_up(struct archive_rig *rig, unsigned member, struct archive_word *ret)
{
    do {
        if (!archive_rig_round(rig, member, -1, ret))
            fail_msg("%s: %s", ret->error_reason, ret->message);
    } while (ret->full);
}

/* ---- what a server has ---- */

struct visit {
    struct gtid_list *list;
    const struct gtid_set *after;
    const struct gtid_set **limits;
    size_t limit_count;
};

static int on_transaction(void *arg, const struct binlog_transaction *transaction, struct error *err)
{
    struct visit *visit = arg;

    UNUSED(err);
    if (visit->after && gtid_set_contains(visit->after, &transaction->gtid))
        return 0;
    for (size_t i = 0; i < visit->limit_count; i++) {
        if (!gtid_set_contains(visit->limits[i], &transaction->gtid))
            return 0;
    }
    gtid_list_add(visit->list, &transaction->gtid);
    return 0;
}

static void scan(const struct archive_rig *rig, const char *path, struct visit *visit)
{
    struct binlog_head head;
    struct error err = ERROR_INIT;

    if (binlog_file_scan(path, rig->flavour, &head, on_transaction, visit, &err) < 0)
        fail_msg("%s", err.message);
    binlog_head_release(&head);
}

void archive_rig_expected(struct archive_rig *rig, unsigned member, const struct gtid_set *after, struct gtid_list *ret)
{
    _cleanup_(freep) char *dir = xasprintf("%s/vol/data", rig->members->members[member].rig->dir);
    _cleanup_(strvec_release) struct strvec files;
    struct visit visit = {.list = ret, .after = after};

    strvec_init(&files);
    assert_int_equal(binlog_tail_files(dir, &files, NULL), 0);
    for (size_t i = 0; i < files.n; i++)
        scan(rig, files.v[i], &visit);
}

/* ---- what the archive has ---- */

struct stored {
    char *base; /* path without the ending */
    struct binlog_segment segment;
    struct position_pool *positions; /* of that one */
    char digest[65];
    bool counts;
};

struct stored_list {
    struct stored *v[SEGMENTS_MAX];
    size_t n;
};

static void find_files(const struct archive_rig *rig, const char *ending, struct strvec *ret)
{
    _cleanup_(freep) char *pattern = xasprintf("*/" FOLDER "/*%s", ending);
    const char *argv[] = {"find", agent_rig_path(rig->store, "vol"), "-type", "f", "-path", pattern, NULL};
    struct subprocess_options options = {.argv = argv, .timeout_ms = 20000};
    _cleanup_(strbuf_release) struct strbuf out;

    strbuf_init(&out, 4 * KM_MIB);
    assert_int_equal(subprocess_run(&options, &out, NULL, NULL, NULL), 0);
    strvec_split(ret, out.buf, "\n");
}

unsigned archive_rig_count(const struct archive_rig *rig, const char *ending)
{
    _cleanup_(strvec_release) struct strvec files;

    strvec_init(&files);
    find_files(rig, ending, &files);
    return (unsigned)files.n;
}

static void free_stored(struct stored *stored)
{
    position_pool_unref(stored->positions);
    free(stored->base);
    free(stored);
}

static int compare_stored(const void *left, const void *right)
{
    return strcmp((*(struct stored *const *)left)->base, (*(struct stored *const *)right)->base);
}

static void load(const struct archive_rig *rig, uint64_t from_epoch, struct stored_list *list)
{
    _cleanup_(strvec_release) struct strvec files;

    strvec_init(&files);
    find_files(rig, ".json", &files);
    for (size_t i = 0; i < files.n; i++) {
        _cleanup_(strbuf_release) struct strbuf text;
        struct stored *stored = xnew(struct stored);
        struct error err = ERROR_INIT;
        strbuf_init(&text, BINLOG_SEGMENT_META_MAX);
        assert_int_equal(fs_read_file(files.v[i], &text, NULL), 0);
        stored->positions = position_pool_new(BINLOG_SEGMENT_POSITIONS_MAX);
        if (binlog_segment_decode(text.buf, text.len, rig->task.sealed ? rig->task.key : NULL, stored->positions,
                &stored->segment, &err) < 0)
            fail_msg("%s: %s", files.v[i], err.message);
        tls_sha256_hex(text.buf, text.len, stored->digest);
        stored->base = xstrndup(files.v[i], strlen(files.v[i]) - strlen(".json"));
        if (stored->segment.name.epoch < from_epoch) {
            free_stored(stored);
            continue;
        }
        assert_true(list->n < SEGMENTS_MAX);
        list->v[list->n++] = stored;
    }
    assert_true(list->n > 0);
    qsort(list->v, list->n, sizeof(struct stored *), compare_stored); /* NOLINT(bugprone-sizeof-expression): pointers */
}

static struct gtid_set *set_of(const struct archive_rig *rig, const char *text)
{
    struct gtid_set *set = gtid_set_parse(rig->flavour, text, NULL);

    assert_non_null(set);
    return set;
}

static bool goes_further(const struct archive_rig *rig, const struct stored *a, const struct stored *b)
{
    _cleanup_(gtid_set_freep) struct gtid_set *left = set_of(rig, a->segment.until);
    _cleanup_(gtid_set_freep) struct gtid_set *right = set_of(rig, b->segment.until);

    return gtid_set_compare(left, right) == GTID_SUPERSET;
}

/* From the end of each epoch back. */
static void settle(const struct archive_rig *rig, struct stored_list *list)
{
    const struct stored *next = NULL; /* the segment that counts behind this place */

    for (size_t end = list->n; end > 0;) {
        struct stored *best = NULL;
        size_t i = end;
        const struct binlog_segment_name *place = &list->v[end - 1]->segment.name;
        bool last = !next || next->segment.name.epoch != place->epoch;
        for (; i > 0 && list->v[i - 1]->segment.name.epoch == place->epoch &&
             list->v[i - 1]->segment.name.sequence == place->sequence;
             i--) {
            struct stored *stored = list->v[i - 1];
            if (last ? !best || goes_further(rig, stored, best) : str_eq(next->segment.previous, stored->digest))
                best = stored;
        }
        if (!best) {
            fail_msg("nothing is what %s follows", next ? next->base : "?");
            return;
        }
        if (!last && next) {
            assert_true(next->segment.name.sequence == best->segment.name.sequence + 1);
            if (!next->segment.gap)
                assert_string_equal(next->segment.after, best->segment.until);
        }
        best->counts = true;
        next = best;
        end = i;
    }
}

static void unpack(const struct archive_rig *rig, const struct stored *stored, const char *to)
{
    _cleanup_(freep) char *path = xasprintf("%s.log", stored->base);
    _cleanup_(strbuf_release) struct strbuf packed;
    struct pack_options options = {.compression = stored->segment.compression,
        .key = stored->segment.sealed ? rig->task.key : NULL,
        .salt = stored->segment.salt};
    struct pack_reader *reader = pack_reader_new(&options);
    FILE *file = fopen(to, "we");
    static char buffer[65536];
    char digest[65];
    uint64_t raw = 0;
    ssize_t n = 0;

    strbuf_init(&packed, LOG_MAX);
    if (fs_read_file(path, &packed, NULL) < 0)
        fail_msg("%s is missing", path);
    tls_sha256_hex(packed.buf, packed.len, digest);
    assert_string_equal(digest, stored->segment.sha256);
    assert_int_equal(packed.len, stored->segment.stored_bytes);
    for (size_t at = 0; at < packed.len; at += PACK_FEED_MAX) {
        assert_int_equal(pack_reader_put(reader, packed.buf + at, MIN_OF(packed.len - at, PACK_FEED_MAX), NULL), 0);
        while ((n = pack_reader_get(reader, buffer, sizeof(buffer), NULL)) > 0) {
            raw += (uint64_t)n;
            assert_int_equal(fwrite(buffer, 1, (size_t)n, file), n);
        }
        assert_int_equal(n, 0);
    }
    assert_int_equal(pack_reader_end(reader, NULL), 0);
    assert_int_equal(raw, stored->segment.raw_bytes);
    pack_reader_free(reader);
    fclose(file);
}

/* A gap is what the caller looks for; here only what counts on this side of later epochs. */
static size_t find_limits(
    const struct archive_rig *rig, const struct stored_list *list, uint64_t epoch, const struct gtid_set **limits)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const struct binlog_segment *segment = &list->v[i]->segment;
        if (list->v[i]->counts && segment->name.epoch > epoch && segment->name.sequence == 1)
            limits[n++] = set_of(rig, segment->after);
    }
    return n;
}

static void read_one(
    const struct archive_rig *rig, const struct stored_list *list, const struct stored *stored, struct gtid_list *ret)
{
    const struct gtid_set *limits[16];
    struct gtid_list all = {0};
    struct visit count = {.list = &all};
    struct visit visit = {.list = ret, .limits = limits};
    _cleanup_(freep) char *path = xasprintf("%s/unpacked", rig->store->dir);

    unpack(rig, stored, path);
    visit.limit_count = find_limits(rig, list, stored->segment.name.epoch, limits);
    scan(rig, path, &count);
    assert_int_equal(all.n, stored->segment.count);
    scan(rig, path, &visit);
    for (size_t i = 0; i < visit.limit_count; i++)
        gtid_set_free((struct gtid_set *)(uintptr_t)limits[i]);
    gtid_list_release(&all);
}

void archive_rig_read(struct archive_rig *rig, uint64_t from_epoch, struct gtid_set **ret_after, struct gtid_list *ret)
{
    struct stored_list *list = xnew(struct stored_list);

    load(rig, from_epoch, list);
    settle(rig, list);
    *ret_after = NULL;
    for (size_t i = 0; i < list->n; i++) {
        if (!list->v[i]->counts)
            continue;
        if (!*ret_after)
            *ret_after = set_of(rig, list->v[i]->segment.after);
        read_one(rig, list, list->v[i], ret);
    }
    for (size_t i = 0; i < list->n; i++)
        free_stored(list->v[i]);
    free(list);
}

static int compare_ones(const void *left, const void *right)
{
    const struct gtid_one *a = left;
    const struct gtid_one *b = right;
    int rc = strcmp(a->source, b->source);

    return rc ? rc : a->number < b->number ? -1 : a->number > b->number;
}

void archive_rig_assert_same(const struct archive_rig *rig, struct gtid_list *archived, struct gtid_list *expected)
{
    /* MySQL's replicas may log transactions that do not depend on each other in another order. */
    if (rig->flavour == GTID_MYSQL && archived->n > 0 && expected->n > 0) {
        qsort(archived->v, archived->n, sizeof(*archived->v), compare_ones);
        qsort(expected->v, expected->n, sizeof(*expected->v), compare_ones);
    }
    for (size_t i = 0; i < MIN_OF(archived->n, expected->n); i++) {
        const struct gtid_one *a = &archived->v[i];
        const struct gtid_one *b = &expected->v[i];
        if (!str_eq(a->source, b->source) || a->domain != b->domain || a->server != b->server || a->number != b->number)
            fail_msg("transaction %zu: %s %u-%u-%llu is archived, %s %u-%u-%llu is in the log", i, a->source, a->domain,
                a->server, (unsigned long long)a->number, b->source, b->domain, b->server,
                (unsigned long long)b->number);
    }
    assert_int_equal(archived->n, expected->n);
}
