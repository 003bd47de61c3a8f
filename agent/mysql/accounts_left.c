/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/mysql/accounts_left.h"

#include <strings.h>

#define ER_BAD_DB 1049
#define ER_NO_SUCH_TABLE 1146
#define LIMIT_TEXT "17"
_Static_assert(ACCOUNTS_LEFT_MAX == 16, "LIMIT_TEXT is one more");

/* Names have the letters that the spec allows, so commas separate them. */
static bool is_plain(const char *name)
{
    return *name && strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(name);
}

static void take_account(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct accounts_left *left = arg;

    UNUSED(names);
    if (count != 2 || left->account_count == (int)ARRAY_LEN(left->accounts) || !is_plain(str_or_empty(values[0])))
        return;
    int at = left->account_count++;
    snprintf(left->accounts[at].name, sizeof(left->accounts[at].name), "%s", values[0]);
    left->accounts[at].is_locked = str_eq(values[1], "1");
}

static void take_database(void *arg, unsigned count, const char *const *names, const char *const *values)
{
    struct accounts_left *left = arg;

    UNUSED(names);
    if (count != 1 || left->database_count == (int)ARRAY_LEN(left->databases) || !is_plain(str_or_empty(values[0])))
        return;
    snprintf(left->databases[left->database_count++], sizeof(left->databases[0]), "%s", values[0]);
}

/* As accounts.c: table_of has the reason for MariaDB's table. */
static const char *accounts_sql(const struct dialect *dialect)
{
    if (dialect->family == AGENT_FLAVOUR_MARIADB)
        return "SELECT m.name, IFNULL(JSON_VALUE(p.Priv, '$.account_locked'), 0) = 1 FROM " ACCOUNTS_MADE_TABLE " m "
               "JOIN mysql.global_priv p ON p.User = m.name AND p.Host = '%' "
               "WHERE m.kind = '" ACCOUNTS_MADE_USER "' ORDER BY m.name LIMIT " LIMIT_TEXT;
    if (!dialect->account_statements)
        return "SELECT m.name, 0 FROM " ACCOUNTS_MADE_TABLE " m JOIN mysql.user p ON p.User = m.name AND p.Host = '%' "
               "WHERE m.kind = '" ACCOUNTS_MADE_USER "' ORDER BY m.name LIMIT " LIMIT_TEXT;
    return "SELECT m.name, p.account_locked = 'Y' FROM " ACCOUNTS_MADE_TABLE " m "
           "JOIN mysql.user p ON p.User = m.name AND p.Host = '%' "
           "WHERE m.kind = '" ACCOUNTS_MADE_USER "' ORDER BY m.name LIMIT " LIMIT_TEXT;
}

int accounts_left_look(
    struct session *session, const struct dialect *dialect, struct accounts_left *ret, struct error *err)
{
    static const char databases[] =
        "SELECT m.name FROM " ACCOUNTS_MADE_TABLE " m JOIN information_schema.schemata s ON s.schema_name = m.name "
        "WHERE m.kind = '" ACCOUNTS_MADE_DATABASE "' ORDER BY m.name LIMIT " LIMIT_TEXT;
    struct accounts_left left = {.is_known = true, .can_lock = dialect->account_statements};
    struct error failure = ERROR_INIT;

    if (session_query(session, accounts_sql(dialect), take_account, &left, &failure) == 0 &&
        session_query(session, databases, take_database, &left, &failure) == 0) {
        *ret = left;
        return 0;
    }
    if (failure.code == ER_NO_SUCH_TABLE || failure.code == ER_BAD_DB) {
        *ret = (struct accounts_left){.is_known = true};
        return 0;
    }
    if (err)
        *err = failure;
    return -1;
}

bool accounts_left_name(const struct accounts_left *left, const char *username)
{
    for (int i = 0; i < left->account_count; i++) {
        if (str_eq(left->accounts[i].name, username))
            return true;
    }
    return false;
}

bool accounts_left_are_cut(const struct accounts_left *left)
{
    return left->account_count == (int)ARRAY_LEN(left->accounts);
}

void accounts_left_without(struct accounts_left *left, const char *username, const char *database)
{
    int accounts = 0, databases = 0;

    for (int i = 0; i < left->account_count; i++) {
        if (!str_eq(left->accounts[i].name, username))
            left->accounts[accounts++] = left->accounts[i];
    }
    for (int i = 0; i < left->database_count; i++) {
        if (database && strcasecmp(left->databases[i], database) == 0)
            continue;
        if (databases != i)
            memcpy(left->databases[databases], left->databases[i], sizeof(left->databases[i]));
        databases++;
    }
    left->account_count = MIN_OF(accounts, ACCOUNTS_LEFT_MAX);
    left->database_count = MIN_OF(databases, ACCOUNTS_LEFT_MAX);
}

bool accounts_left_are_open(const struct accounts_left *left)
{
    for (int i = 0; i < left->account_count && left->can_lock; i++) {
        if (!left->accounts[i].is_locked)
            return true;
    }
    return false;
}

static void add_name(char *text, size_t size, const char *name)
{
    size_t len = strlen(text);

    snprintf(text + len, size - len, "%s%s", len ? "," : "", name);
}

void accounts_left_fill_status(const struct accounts_left *left, struct agent_status *ret)
{
    ret->left_accounts[0] = ret->locked_accounts[0] = ret->left_databases[0] = '\0';
    for (int i = 0; i < left->account_count; i++) {
        bool is_locked = left->accounts[i].is_locked;
        add_name(
            is_locked ? ret->locked_accounts : ret->left_accounts, sizeof(ret->left_accounts), left->accounts[i].name);
    }
    for (int i = 0; i < left->database_count; i++)
        add_name(ret->left_databases, sizeof(ret->left_databases), left->databases[i]);
}
