/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_left.h"

#include <strings.h>

#include "common/strbuf.h"
#include "operator/api/condition_reason.h"
#include "operator/api/names.h"
#include "operator/cluster/state/member_view.h"

/* A message names so many bytes of each. */
#define LIST_SIZE 100
#define HOW_TO_LOCK "annotation " ANNOTATION_LOCK_LEFT_ACCOUNTS "=true"

/* NULL: it is not known. */
static const struct agent_status *find_word(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    bool is_known = snapshot->usable && primary && member_speaks(primary) && primary->agent->named_known;
    return is_known ? primary->agent : NULL;
}

typedef int (*compare_fn)(const char *a, const char *b, size_t len);

static bool is_named(const char *name, size_t len, const char *by, compare_fn compare)
{
    return by && strlen(by) == len && compare(name, by, len) == 0;
}

/* Of names that commas separate, those that the spec does not name again: "a, b, ...". */
static void list_names(const char *names, const char *but, compare_fn compare, char out[static LIST_SIZE])
{
    size_t used = 0;
    *out = '\0';
    for (const char *at = names; *at;) {
        size_t len = strcspn(at, ",");
        bool fits = used + len + sizeof(", , ...") <= LIST_SIZE;
        if (!is_named(at, len, but, compare)) {
            used += (size_t)snprintf(
                out + used, LIST_SIZE - used, "%s%.*s", used ? ", " : "", fits ? (int)len : 3, fits ? at : "...");
            if (!fits)
                return;
        }
        at += len + (at[len] == ',');
    }
}

struct left {
    char open[LIST_SIZE], locked[LIST_SIZE], databases[LIST_SIZE];
};

static struct left find_left(const struct cluster_snapshot *snapshot, const struct agent_status *agent)
{
    struct left left = {.open = ""};
    /* "app" and "App" are two accounts, and may be one database (lower_case_table_names). */
    list_names(agent->left_accounts, snapshot->cluster.username, strncmp, left.open);
    list_names(agent->locked_accounts, snapshot->cluster.username, strncmp, left.locked);
    list_names(agent->left_databases, snapshot->cluster.database, strncasecmp, left.databases);
    return left;
}

static bool is_applied(const struct cluster_snapshot *snapshot, const struct agent_status *agent)
{
    const struct mysql_cluster *cluster = &snapshot->cluster;
    return str_eq(agent->named_user, str_or_empty(cluster->username)) &&
        str_eq(agent->named_database, str_or_empty(cluster->database));
}

bool cluster_names_are_applied(const struct cluster_snapshot *snapshot)
{
    const struct agent_status *agent = find_word(snapshot);
    return !agent || is_applied(snapshot, agent);
}

static const char *name_or_none(const char *name)
{
    return str_empty(name) ? "none" : name;
}

static void say_pending(const struct cluster_snapshot *snapshot, const struct agent_status *agent, struct strbuf *out)
{
    const struct mysql_cluster *cluster = &snapshot->cluster;
    strbuf_addf(out, "spec.username (%s) and spec.database (%s) are not applied yet: the server has %s and %s",
        name_or_none(cluster->username), name_or_none(cluster->database), name_or_none(agent->named_user),
        name_or_none(agent->named_database));
}

static const char *separator(const struct strbuf *out)
{
    return out->len ? "; " : "";
}

static void say_left(const struct cluster_snapshot *snapshot, const struct left *left, struct strbuf *out)
{
    const char *user = snapshot->cluster.username;
    if (*left->open)
        strbuf_addf(out, "%saccounts that spec.username no longer names can still enter, with password and rights: %s%s",
            separator(out), left->open,
            snapshot->lock_left ? ", which are to be locked" : "; " HOW_TO_LOCK " locks them");
    if (*left->locked)
        strbuf_addf(out, "%saccounts that spec.username no longer names are locked: %s", separator(out), left->locked);
    if (*left->databases)
        strbuf_addf(out, "%sdatabases that spec.database no longer names stay: %s", separator(out), left->databases);
    if (*left->databases && user)
        strbuf_addf(out, "; %s gets no further rights on them, and keeps those it has", user);
}

void cluster_report_left(const struct cluster_snapshot *snapshot, struct cluster_status *status)
{
    const struct agent_status *agent = find_word(snapshot);
    _cleanup_(strbuf_release) struct strbuf text = {0};
    if (!agent)
        return;
    struct left left = find_left(snapshot, agent);
    bool applied = is_applied(snapshot, agent);
    strbuf_init(&text, KM_KIB);
    if (!applied)
        say_pending(snapshot, agent, &text);
    say_left(snapshot, &left, &text);
    const char *reason = !applied ? reason_name(REASON_NOT_APPLIED_YET)
        : *left.open              ? "CanEnter"
        : *left.locked            ? reason_name(REASON_LOCKED)
                                  : reason_name(REASON_DATABASES_LEFT);
    if (text.len == 0)
        kube_conditions_remove(&status->conditions, CONDITION_ACCOUNTS_LEFT);
    else
        kube_conditions_set(&status->conditions, CONDITION_ACCOUNTS_LEFT, KUBE_CONDITION_TRUE, reason,
            snapshot->generation, snapshot->now_ms, "%s", text.buf);
}

bool cluster_left_remedy(const struct cluster_snapshot *snapshot, char *out, size_t size)
{
    const struct agent_status *agent = find_word(snapshot);
    if (!agent || snapshot->lock_left || !is_applied(snapshot, agent))
        return false;
    struct left left = find_left(snapshot, agent);
    if (*left.open)
        snprintf(out, size,
            "name the account that an application uses in spec.username; lock (" HOW_TO_LOCK ") or drop the others: %s",
            left.open);
    return *left.open;
}
