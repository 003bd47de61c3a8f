/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/binlog_keeper.h"

#include <sys/stat.h>

#include "agent/backup/binlog_file.h"
#include "agent/backup/binlog_tail.h"
#include "agent/binlog_limit.h"
#include "agent/mysql/session.h"
#include "common/alloc.h"
#include "common/clock.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/log.h"
#include "common/position.h"
#include "common/strvec.h"
#include "common/worker.h"

#define CONNECT_TIMEOUT_S 2
#define IO_TIMEOUT_S 60
#define LOOK_MS 5000
/* While room is lacking. */
#define LOOK_SOON_MS 1000
/* Of logs that nothing limits: they change when this process begins, and when they expire. */
#define LOOK_SELDOM_MS 30000
#define BINLOGS_MAX 100000
#define ER_LOG_IN_USE 1378

struct wish {
    char id[AGENT_PURGE_ID_SIZE]; /* "" none */
    char until[AGENT_BINLOG_NAME_SIZE];
    char after[POSITION_TOLD_SIZE];
    bool for_room;
};

struct binlog_keeper {
    struct worker *worker;
    const struct agent_paths *paths;
    const struct instance_state *state;
    struct session_options options;
    void (*changed)(void *arg);
    void *arg;
    int64_t next_ms, seldom_ms;
    bool busy, ending;
    struct wish wish;
    uint64_t bytes;                                       /* of all logs, as of the latest look; 0: none yet */
    int64_t from_ms;                                      /* agent_api.h: binlogs_from_ms */
    int64_t looked_ms;                                    /* when the latest look began */
    char granted[AGENT_PURGE_ID_SIZE];                    /* the latest; "" none */
    char logged[sizeof(((struct error *)NULL)->message)]; /* the failure that was logged last */
    /* From submit to done these belong to the thread. */
    enum gtid_flavour flavour;
    struct volume_room room;
    uint64_t max_bytes;
    char purge_until[AGENT_BINLOG_NAME_SIZE]; /* "" nothing */
    bool is_limited;                          /* else only the beginning is looked for */
    bool purged, rotated;
    struct wish found;
    uint64_t found_bytes;
    int64_t found_from_ms; /* -1: that look failed */
    struct error error;
};

/* ---- the thread ---- */

static int execute(const struct binlog_keeper *keeper, const char *sql, struct error *err)
{
    _cleanup_(session_closep) struct session *session = session_open(&keeper->options, err);

    return session ? session_exec(session, sql, err) : -1;
}

/* A log that is gone since the list was read counts nothing. */
static uint64_t size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* MariaDB: of each domain and server; its positions tell the last of a domain. */
static struct gtid_set *beginning_of(const struct binlog_head *head, enum gtid_flavour flavour)
{
    if (flavour == GTID_MYSQL)
        return head->before ? gtid_set_intersect(head->before, head->before) : NULL;
    struct gtid_set *set = gtid_set_new(flavour);
    for (size_t i = 0; i < head->last_count; i++)
        gtid_set_add(set, &head->last[i]);
    return set;
}

static void name_wish(struct wish *wish)
{
    uint64_t hash = hash64(HASH64_INIT, wish->until, strlen(wish->until) + 1);

    hash = hash64(hash, wish->after, strlen(wish->after));
    snprintf(wish->id, sizeof(wish->id), "%016llx", (unsigned long long)hash);
}

/* There is no wish where the position is longer than the status can hold: nobody could judge it. */
static int make_wish(struct binlog_keeper *keeper, const char *path, struct error *err)
{
    struct binlog_head head;
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, POSITION_TOLD_SIZE);
    int rc = binlog_file_scan(path, keeper->flavour, &head, NULL, NULL, err);
    _cleanup_(gtid_set_freep) struct gtid_set *after = rc == 0 ? beginning_of(&head, keeper->flavour) : NULL;
    binlog_head_release(&head);
    if (!after)
        return rc;
    gtid_set_print(after, &text);
    if (text.overflowed || text.len >= POSITION_TOLD_SIZE || strlen(name_of(path)) >= AGENT_BINLOG_NAME_SIZE)
        return 0;
    snprintf(keeper->found.until, sizeof(keeper->found.until), "%s", name_of(path));
    snprintf(keeper->found.after, sizeof(keeper->found.after), "%s", text.buf);
    keeper->found.for_room = binlog_limit_lacking(&keeper->room) > 0;
    name_wish(&keeper->found);
    return 0;
}

static int limit(struct binlog_keeper *keeper, const struct strvec *files, struct error *err)
{
    _cleanup_(freep) uint64_t *bytes = xnew_array(uint64_t, files->n);

    for (size_t i = 0; i < files->n; i++) {
        bytes[i] = size_of(files->v[i]);
        keeper->found_bytes += bytes[i];
    }
    if (binlog_limit_rotates(bytes, files->n, &keeper->room)) {
        keeper->rotated = execute(keeper, "FLUSH LOCAL BINARY LOGS", err) == 0;
        return keeper->rotated ? 0 : -1;
    }
    size_t count = binlog_limit_count(bytes, files->n, keeper->max_bytes, binlog_limit_lacking(&keeper->room));
    return count ? make_wish(keeper, files->v[count], err) : 0;
}

/* The name stands in the index of this server, which makes it of its own my.cnf: it holds no quote. A log that is being
 * sent to somebody stays, and all behind it: MariaDB says so by an error. */
static int purge(struct binlog_keeper *keeper, struct error *err)
{
    _cleanup_(freep) char *sql = xasprintf("PURGE BINARY LOGS TO '%s'", keeper->purge_until);
    int rc = execute(keeper, sql, err);

    if (rc < 0 && err->code == ER_LOG_IN_USE) {
        error_clear(err);
        return 0;
    }
    return rc;
}

/* Where the logs begin is reported also when the server does not answer: it stands in the files. */
static void look(struct binlog_keeper *keeper)
{
    _cleanup_(strvec_release) struct strvec files;
    struct error err = ERROR_INIT;

    strvec_init(&files);
    if (binlog_tail_files(keeper->paths->data_dir, &files, &err) == 0) {
        keeper->found_from_ms = files.n > 0 ? binlog_file_begun_ms(files.v[0]) : 0;
        if (keeper->error.kind == ERROR_NONE && files.n > 0 && files.n <= BINLOGS_MAX && keeper->is_limited)
            (void)(limit(keeper, &files, &err) == 0);
    }
    if (keeper->error.kind == ERROR_NONE)
        keeper->error = err;
}

static void run(void *arg)
{
    struct binlog_keeper *keeper = arg;

    error_clear(&keeper->error);
    keeper->found = (struct wish){.for_room = false};
    keeper->found_bytes = 0;
    keeper->found_from_ms = -1;
    keeper->purged = keeper->rotated = false;
    if (*keeper->purge_until)
        keeper->purged = purge(keeper, &keeper->error) == 0;
    look(keeper);
}

/* ---- the loop ---- */

/* A look that failed says nothing: what is known stays. 0 would say that the logs reach back. */
static bool take_beginning(struct binlog_keeper *keeper)
{
    int64_t last_ms = keeper->from_ms;

    if (keeper->found_from_ms >= 0)
        keeper->from_ms = keeper->found_from_ms;
    else
        keeper->next_ms = keeper->seldom_ms = keeper->looked_ms + LOOK_SOON_MS;
    return keeper->from_ms != last_ms;
}

static void done(void *arg)
{
    struct binlog_keeper *keeper = arg;
    bool is_other = !str_eq(keeper->found.id, keeper->wish.id) || keeper->found.for_room != keeper->wish.for_room;
    bool begins_elsewhere = take_beginning(keeper);

    keeper->busy = false;
    if (keeper->ending)
        return;
    if (keeper->purged && is_other)
        log_info("binary logs have gone for their size", LOG_STR("until", keeper->purge_until),
            LOG_BOOL("forRoom", keeper->wish.for_room), LOG_INT("leftMiB", (int64_t)(keeper->found_bytes / KM_MIB)));
    if (keeper->rotated)
        log_info("a new binary log is begun, as room is lacking");
    if (keeper->error.kind != ERROR_NONE && !str_eq(keeper->error.message, keeper->logged))
        log_warn("binary logs could not be looked after", LOG_ERR(&keeper->error));
    snprintf(
        keeper->logged, sizeof(keeper->logged), "%s", keeper->error.kind == ERROR_NONE ? "" : keeper->error.message);
    keeper->wish = keeper->found;
    keeper->bytes = keeper->found_bytes;
    if (is_other || begins_elsewhere)
        keeper->changed(keeper->arg);
}

static bool may_look(const struct binlog_keeper *keeper, enum agent_phase phase)
{
    const struct instance_state *state = keeper->state;

    return phase == AGENT_PHASE_RUNNING && state->probe_error.kind == ERROR_NONE && *state->observed.version.text;
}

static bool is_limited(const struct instance_state *state)
{
    return state->role.has_order && state->role.running == ROLE_ACTION_NONE && state->serving_copies == 0 &&
        (state->binlog_max_bytes > 0 || binlog_limit_lacking(&state->room) > 0);
}

/* What was granted holds for ever: others have it. So it is tried again where the server still sends that log. */
static bool may_purge(const struct binlog_keeper *keeper)
{
    return *keeper->wish.id && str_eq(keeper->wish.id, keeper->granted);
}

void binlog_keeper_turn(struct binlog_keeper *keeper, enum agent_phase phase, int64_t now_ms)
{
    const struct instance_state *state = keeper->state;
    struct worker_job job = {.run = run, .done = done, .arg = keeper};

    if (keeper->busy)
        return;
    bool limited = may_look(keeper, phase) && is_limited(state);
    if (!limited)
        keeper->wish = (struct wish){.for_room = false};
    if (!may_look(keeper, phase) || now_ms < (limited ? keeper->next_ms : keeper->seldom_ms))
        return;
    keeper->busy = true;
    keeper->looked_ms = now_ms;
    keeper->is_limited = limited;
    keeper->next_ms = now_ms + (binlog_limit_lacking(&state->room) ? LOOK_SOON_MS : LOOK_MS);
    keeper->seldom_ms = now_ms + LOOK_SELDOM_MS;
    keeper->flavour = agent_gtid_flavour(state->observed.version.flavour);
    keeper->room = state->room;
    keeper->max_bytes = state->binlog_max_bytes;
    snprintf(keeper->purge_until, sizeof(keeper->purge_until), "%s", may_purge(keeper) ? keeper->wish.until : "");
    if (worker_submit(keeper->worker, &job) < 0)
        abort(); /* one at a time cannot fill the queue */
}

bool binlog_keeper_is_busy(const struct binlog_keeper *keeper)
{
    return keeper->busy;
}

bool binlog_keeper_grant(struct binlog_keeper *keeper, const char *id)
{
    if (str_eq(id, keeper->granted))
        return true;
    if (!str_eq(id, keeper->wish.id))
        return false;
    snprintf(keeper->granted, sizeof(keeper->granted), "%s", id);
    keeper->next_ms = 0;
    return true;
}

void binlog_keeper_put(struct binlog_keeper *keeper, struct http_exchange *exchange)
{
    size_t len = 0;
    const char *body = http_exchange_body(exchange, &len);
    _cleanup_(json_decrefp) json_t *document = json_parse(body, len, NULL);
    const char *id = json_path_str(document, "wish", "");

    if (!*id)
        http_replyf(exchange, 400, "no wish is named");
    else if (binlog_keeper_grant(keeper, id))
        http_replyf(exchange, 200, "ok");
    else
        http_replyf(exchange, 409, "another one is wished, or none");
}

void binlog_keeper_fill(const struct binlog_keeper *keeper, struct agent_status *ret)
{
    ret->binlog_bytes = keeper->bytes;
    ret->binlogs_from_ms = keeper->from_ms;
    ret->purge_for_room = keeper->wish.for_room;
    memcpy(ret->purge_wish, keeper->wish.id, sizeof(ret->purge_wish));
    memcpy(ret->purge_until, keeper->wish.until, sizeof(ret->purge_until));
    memcpy(ret->purge_after, keeper->wish.after, sizeof(ret->purge_after));
    memcpy(ret->purge_granted, keeper->granted, sizeof(ret->purge_granted));
}

/* ---- life ---- */

struct binlog_keeper *binlog_keeper_new(struct loop *loop, const struct agent_paths *paths, const char *user,
    const struct instance_state *state, void (*changed)(void *arg), void *arg)
{
    struct binlog_keeper *keeper = xnew(struct binlog_keeper);

    keeper->worker = worker_new(loop, "binlogs");
    keeper->paths = paths;
    keeper->state = state;
    keeper->options = (struct session_options){
        .socket = paths->socket,
        .user = user,
        .connect_timeout_s = CONNECT_TIMEOUT_S,
        .io_timeout_s = IO_TIMEOUT_S,
    };
    keeper->changed = changed;
    keeper->arg = arg;
    return keeper;
}

void binlog_keeper_free(struct binlog_keeper *keeper)
{
    if (!keeper)
        return;
    keeper->ending = true;
    worker_free(keeper->worker);
    free(keeper);
}
