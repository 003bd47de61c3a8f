/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/position_check.h"

#include "agent/mysql/replication_facts.h"
#include "agent/mysql/row_value.h"

#define POSITIONS_MAX (1 * KM_MIB)
#define MISSING_MAX 160

/* Calls with each DOMAIN-SERVER-NUMBER; true from `each` ends it. */
static bool any_position(const char *text, bool (*each)(void *arg, const char *at, size_t len), void *arg)
{
    static const char between[] = ", \t\r\n";

    for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
        size_t len = strcspn(at, between);
        if (each(arg, at, len))
            return true;
        at += len;
    }
    return false;
}

static uint32_t server_of(const char *at, size_t len)
{
    const char *dash = memchr(at, '-', len);

    return dash ? (uint32_t)strtoul(dash + 1, NULL, 10) : 0;
}

static bool is_of(void *arg, const char *at, size_t len)
{
    return server_of(at, len) == *(const uint32_t *)arg;
}

struct others {
    uint32_t left_out;
    struct strbuf *out;
};

static bool add_other(void *arg, const char *at, size_t len)
{
    const struct others *others = arg;

    if (server_of(at, len) != others->left_out)
        strbuf_addf(others->out, "%s%.*s", others->out->len > 0 ? "," : "", (int)len, at);
    return false;
}

void position_of_others(const char *positions, uint32_t server_id, const char *wanted, struct strbuf *out)
{
    bool is_named = any_position(wanted, is_of, &server_id);
    struct others others = {.left_out = is_named ? 0 : server_id, .out = out};

    any_position(positions, add_other, &others);
}

/* ---- what the server says ---- */

struct said {
    uint32_t server_id;
    struct strbuf state, given;
};

static void take_said(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct said *said = arg;

    UNUSED(names);
    if (count < 3)
        return;
    said->server_id = (uint32_t)strtoul(str_or_empty(values[0]), NULL, 10);
    strbuf_adds(&said->state, str_or_empty(values[1]));
    strbuf_adds(&said->given, str_or_empty(values[2]));
}

static struct gtid_set *given_to_mariadb(struct session *session, const char *wanted, struct error *err)
{
    struct said said = {.server_id = 0};
    struct gtid_set *ret = NULL;
    _cleanup_(strbuf_release) struct strbuf others;

    strbuf_init(&others, 2 * POSITIONS_MAX);
    strbuf_init(&said.state, POSITIONS_MAX);
    strbuf_init(&said.given, POSITIONS_MAX);
    if (session_query(session, "SELECT @@global.server_id, @@global.gtid_binlog_state, @@global.gtid_slave_pos",
            take_said, &said, err) == 0) {
        position_of_others(said.state.buf, said.server_id, wanted, &others);
        position_of_others(said.given.buf, said.server_id, wanted, &others);
        ret = gtid_set_parse(GTID_MARIADB, others.buf, err);
    }
    strbuf_release(&said.state);
    strbuf_release(&said.given);
    return ret;
}

static int compare(const struct gtid_set *wanted, const struct gtid_set *has, struct error *err)
{
    enum gtid_relation relation = gtid_set_compare(wanted, has);
    char text[MISSING_MAX];
    struct strbuf missing;

    if (relation == GTID_EQUAL || relation == GTID_SUBSET)
        return 0;
    _cleanup_(gtid_set_freep) struct gtid_set *lacks = gtid_set_subtract(wanted, has);
    strbuf_init(&missing, POSITIONS_MAX);
    gtid_set_print(lacks, &missing);
    row_value_copy(text, sizeof(text), str_or_empty(missing.buf));
    strbuf_release(&missing);
    return error_set(err, ERROR_INVALID, "the server lacks transactions that the backup stands for: %s", text);
}

int position_check(struct session *session, const struct dialect *dialect, const char *wanted,
    char ret_executed[static POSITION_TOLD_SIZE], struct error *err)
{
    enum gtid_flavour flavour = replication_gtid_flavour(dialect);
    struct strbuf text;

    _cleanup_(gtid_set_freep) struct gtid_set *executed = replication_executed(session, dialect, err);
    if (!executed)
        return -1;
    strbuf_init(&text, POSITIONS_MAX);
    gtid_set_print(executed, &text);
    position_tell(ret_executed, text.buf);
    strbuf_release(&text);
    if (!*wanted)
        return 0;
    _cleanup_(gtid_set_freep) struct gtid_set *wanted_set = gtid_set_parse(flavour, wanted, err);
    if (!wanted_set)
        return error_prefix(err, "the position of the backup");
    if (flavour == GTID_MYSQL)
        return compare(wanted_set, executed, err);
    _cleanup_(gtid_set_freep) struct gtid_set *given = given_to_mariadb(session, wanted, err);
    return given ? compare(wanted_set, given, err) : -1;
}
