/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/strangers.h"

#include <stdatomic.h>

#include "common/alloc.h"
#include "common/strbuf.h"

#define OURSELVES "/proc/self/exe"
#define ASKED_MAX (128 * KM_KIB)
#define CONNECTIONS_MAX 1000

/* Of programs that run, and the number of the last session of ours before the first of them: theirs are larger. */
static atomic_uint tools;
static atomic_ulong last_before_tools;

static bool is_of_others(const char *const *argv)
{
    return !str_eq(argv[0], OURSELVES);
}

void strangers_tool_begins(const char *const *argv)
{
    if (is_of_others(argv) && atomic_fetch_add(&tools, 1) == 0)
        atomic_store(&last_before_tools, session_latest_id());
}

void strangers_tool_ends(const char *const *argv)
{
    if (is_of_others(argv))
        atomic_fetch_sub(&tools, 1);
}

static bool may_be_a_tool(unsigned long long id)
{
    return atomic_load(&tools) > 0 && id > atomic_load(&last_before_tools);
}

struct listing {
    const struct session *session;
    struct strbuf *question;
    unsigned asked;
};

/* Id, User, … : of each that came in by our account it is asked whether it holds the lock of its number. */
static void take_connection(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct listing *listing = arg;

    UNUSED(names);
    if (count < 2 || !values[0] || !str_eq(values[1], session_user(listing->session)))
        return;
    unsigned long long id = strtoull(values[0], NULL, 10);
    if (id == session_id(listing->session) || may_be_a_tool(id) || listing->asked == CONNECTIONS_MAX)
        return;
    strbuf_addf(listing->question, ", IF(IS_USED_LOCK('" SESSION_MARK "%llu') = %llu, NULL, %llu)", id, id, id);
    listing->asked++;
}

static void take_ids(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct strangers *ret = arg;

    UNUSED(names);
    if (count > 0 && !str_empty(values[0]))
        ret->ids = xasprintf(" %s ", values[0]);
}

int strangers_look(struct session *session, struct strangers *ret, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf question;
    struct listing listing = {.session = session, .question = &question};
    struct error failure = ERROR_INIT;

    *ret = (struct strangers){0};
    strbuf_init(&question, ASKED_MAX);
    strbuf_adds(&question, "SELECT CONCAT_WS(' '");
    if (session_query(session, "SHOW PROCESSLIST", take_connection, &listing, err) < 0)
        return -1;
    if (listing.asked == 0)
        return 0;
    strbuf_adds(&question, ")");
    if (session_query(session, question.buf, take_ids, ret, &failure) == 0 || failure.kind == ERROR_DATABASE)
        return 0; /* a server that does not tell is closed all the same */
    if (err)
        *err = failure;
    return -1;
}

bool strangers_has(const struct strangers *strangers, const char *id)
{
    char text[32];

    if (!strangers->ids || !id)
        return false;
    snprintf(text, sizeof(text), " %s ", id);
    return strstr(strangers->ids, text) != NULL;
}

void strangers_release(struct strangers *strangers)
{
    free(strangers->ids);
    *strangers = (struct strangers){0};
}
