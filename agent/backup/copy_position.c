/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/copy_position.h"

#include "agent/mysql/session.h"
#include "agent/mysql/sql_text.h"
#include "common/alloc.h"
#include "common/gtid.h"
#include "common/json_fields.h"

#define CONNECT_TIMEOUT_S 5
/* The server reads the binary log file up to the offset. */
#define ASK_TIMEOUT_S 600
#define STATEMENT_MAX (2 * KM_KIB)
#define LAST_CHANGE "GTID of the last change '"

void copy_position_release(struct copy_position *position)
{
    free(position->gtid);
    *position = (struct copy_position){0};
}

/* What stands between mark and the next quote: a new string, NULL if it is not there, or is longer than max. */
static char *find_quoted(const char *line, const char *mark, size_t max)
{
    const char *at = strstr(line, mark);

    if (!at)
        return NULL;
    at += strlen(mark);
    size_t len = strcspn(at, "'");
    return len <= max && at[len] == '\'' ? xstrndup(at, len) : NULL;
}

bool copy_position_find(const char *line, struct copy_position *ret)
{
    struct copy_position found = {0};

    if (!strstr(line, "binlog position: "))
        return false;
    _cleanup_(freep) char *file = find_quoted(line, "filename '", sizeof(found.file) - 1);
    _cleanup_(freep) char *offset = find_quoted(line, "position '", 23);
    if (!file || !offset)
        return false;
    snprintf(found.file, sizeof(found.file), "%s", file);
    found.offset = strtoull(offset, NULL, 10);
    found.gtid = find_quoted(line, LAST_CHANGE, POSITION_TEXT_MAX);
    if (!found.gtid && strstr(line, LAST_CHANGE)) /* too long: whoever joins it hears of it */
        found.gtid = xstrdup(POSITION_TOO_LONG);
    copy_position_release(ret);
    *ret = found;
    return true;
}

bool copy_position_told(const char *line, char **ret)
{
    char *found = str_starts_with(line, COPY_POSITION_TOLD "'")
        ? find_quoted(line, COPY_POSITION_TOLD "'", POSITION_TEXT_MAX)
        : NULL;

    if (!found)
        return false;
    free(*ret);
    *ret = found;
    return true;
}

int copy_position_join(const char *told, const char *at_offset, char **ret, struct error *err)
{
    _cleanup_(freep) char *both = xasprintf("%s,%s", told, at_offset);
    _cleanup_(gtid_set_freep) struct gtid_set *set = gtid_set_parse(GTID_MARIADB, both, err);
    _cleanup_(strbuf_release) struct strbuf text = {0};

    if (!set)
        return error_prefix(err, "gtid");
    strbuf_init(&text, POSITION_TEXT_MAX);
    gtid_set_print(set, &text);
    if (text.overflowed)
        return error_set(err, ERROR_TOO_LARGE, "gtid: a position of more than %zu bytes", POSITION_TEXT_MAX);
    str_replace(ret, str_or_empty(text.buf));
    return 0;
}

static void take_answer(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    char **answer = arg;

    UNUSED(names);
    if (count == 1 && values[0])
        str_replace(answer, values[0]);
}

int copy_position_ask(
    const char *socket, const char *user, const struct copy_position *position, char **ret, struct error *err)
{
    struct session_options options = {
        .socket = socket, .user = user, .connect_timeout_s = CONNECT_TIMEOUT_S, .io_timeout_s = ASK_TIMEOUT_S};
    _cleanup_(session_closep) struct session *session = session_open(&options, err);
    _cleanup_(strbuf_release) struct strbuf sql = {0};
    _cleanup_(freep) char *answer = NULL;

    if (!session)
        return -1;
    strbuf_init(&sql, STATEMENT_MAX);
    strbuf_adds(&sql, "SELECT BINLOG_GTID_POS(");
    sql_add_string(&sql, position->file);
    strbuf_addf(&sql, ", %llu)", (unsigned long long)position->offset);
    if (session_query(session, sql.buf, take_answer, &answer, err) < 0)
        return -1;
    if (!answer) /* NULL, with a warning: purged since */
        return error_set(err, ERROR_NOT_FOUND, "the server does not know the GTIDs at %s:%llu any more", position->file,
            (unsigned long long)position->offset);
    return copy_position_join(str_or_empty(position->gtid), answer, ret, err);
}
