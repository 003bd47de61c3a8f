/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/status/cluster_report_accounts.h"

#include "operator/cluster/state/member_view.h"
#include "operator/cluster/status/cluster_report_left.h"

static const struct agent_status *primary_agent(const struct cluster_snapshot *snapshot)
{
    const struct cluster_member *primary = cluster_primary(snapshot);
    return primary && member_speaks(primary) ? primary->agent : NULL;
}

static bool is_same(const struct cluster_snapshot *snapshot, const struct agent_status *agent)
{
    return str_eq(agent->accounts_hash, snapshot->secrets.accounts_hash);
}

/* Before the Secret was read, or the primary heard, nothing is known. Nor while the same passwords are applied again,
 * as by a new primary. */
static bool is_known(const struct cluster_snapshot *snapshot)
{
    const struct agent_status *agent = primary_agent(snapshot);
    return *snapshot->secrets.accounts_hash && agent && *agent->accounts_hash &&
        (agent->accounts_applied || !is_same(snapshot, agent));
}

bool cluster_accounts_are_applied(const struct cluster_snapshot *snapshot)
{
    return is_known(snapshot) && is_same(snapshot, primary_agent(snapshot));
}

bool cluster_accounts_are_awaited(const struct cluster_snapshot *snapshot)
{
    const struct agent_status *agent = primary_agent(snapshot);
    return snapshot->usable && *snapshot->secrets.accounts_hash && agent && agent->named_known &&
        !is_same(snapshot, agent);
}

bool cluster_tls_is_awaited(const struct cluster_snapshot *snapshot)
{
    const struct agent_status *agent = primary_agent(snapshot);
    const char *wanted = snapshot->cluster.require_tls ? AGENT_TLS_REQUIRED : AGENT_TLS_OFFERED;
    return snapshot->usable && agent && !str_empty(agent->named_tls) && !str_eq(agent->named_tls, wanted);
}

static void name_account(
    const struct cluster_snapshot *snapshot, enum cluster_account_kind kind, struct cluster_account *ret)
{
    const struct mysql_cluster *cluster = &snapshot->cluster;
    bool is_given = cluster->password_secret_name && kind == (cluster->username ? ACCOUNT_USER : ACCOUNT_ROOT);
    snprintf(ret->name, sizeof(ret->name), "%s", kind == ACCOUNT_USER ? cluster->username : cluster_account_keys[kind]);
    snprintf(
        ret->secret, sizeof(ret->secret), "%s", is_given ? cluster->password_secret_name : snapshot->names.accounts);
}

/* It is another one than when the server had them all. */
static bool is_changed(const struct cluster_snapshot *snapshot, enum cluster_account_kind kind)
{
    uint64_t applied = snapshot->applied_accounts[kind];
    return applied && applied != snapshot->secrets.account_digests[kind];
}

/* The passwords are the server's, and it has yet to hear of another name. */
static bool is_made(const struct cluster_snapshot *snapshot, enum cluster_account_kind kind)
{
    return kind != ACCOUNT_USER || cluster_names_are_applied(snapshot);
}

/* Which one it is that the server has not, only who has seen it with all of them knows: else it is said of each. */
static bool is_applied(const struct cluster_snapshot *snapshot, enum cluster_account_kind kind)
{
    if (!is_made(snapshot, kind))
        return false;
    if (cluster_accounts_are_applied(snapshot))
        return true;
    return snapshot->applied_accounts[kind] && !is_changed(snapshot, kind);
}

static void report_account(const struct cluster_snapshot *snapshot, enum cluster_account_kind kind,
    const struct cluster_account *last, struct cluster_account *account)
{
    bool is_news = is_changed(snapshot, kind);
    name_account(snapshot, kind, account);
    if (is_known(snapshot))
        account->applied = is_applied(snapshot, kind);
    else
        account->applied = last && last->applied && !is_news;
    bool stays = last && last->applied == account->applied && !(account->applied && is_news);
    bool is_new = snapshot->last.accounts.count == 0 && !account->applied; /* as are the pods, which mount it */
    account->since_ms = stays ? last->since_ms : is_new ? 0 : snapshot->now_ms - snapshot->now_ms % 1000;
}

void cluster_report_accounts(const struct cluster_snapshot *snapshot, struct cluster_accounts *ret)
{
    const struct cluster_accounts *last = &snapshot->last.accounts;
    *ret = (struct cluster_accounts){.count = 0};
    if (!snapshot->usable || (!*snapshot->secrets.accounts_hash && last->count == 0)) {
        *ret = *last;
        return;
    }
    for (int kind = 0; kind < ACCOUNT_KIND_COUNT; kind++) {
        struct cluster_account account = {.applied = false};
        if (kind == ACCOUNT_USER && !snapshot->cluster.username)
            continue;
        name_account(snapshot, (enum cluster_account_kind)kind, &account);
        report_account(snapshot, (enum cluster_account_kind)kind, cluster_accounts_find(last, account.name), &account);
        ret->list[ret->count++] = account;
    }
}
