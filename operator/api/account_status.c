/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/account_status.h"

#include "common/json.h"
#include "operator/api/status_values.h"

const char *const cluster_account_keys[ACCOUNT_KIND_COUNT] = {"root", "user", "monitor", "replication"};

static const struct status_text account_texts[] = {
    STATUS_TEXT(cluster_account, "name", name),
    STATUS_TEXT(cluster_account, "secret", secret),
};

const struct cluster_account *cluster_accounts_find(const struct cluster_accounts *accounts, const char *name)
{
    for (int i = 0; i < accounts->count; i++) {
        if (str_eq(accounts->list[i].name, name))
            return &accounts->list[i];
    }
    return NULL;
}

int64_t cluster_accounts_pending_since_ms(const struct cluster_accounts *accounts)
{
    int64_t since_ms = 0;
    for (int i = 0; i < accounts->count; i++) {
        if (!accounts->list[i].applied)
            since_ms = MAX_OF(since_ms, accounts->list[i].since_ms);
    }
    return since_ms;
}

json_t *cluster_accounts_encode(const struct cluster_accounts *accounts)
{
    if (accounts->count == 0)
        return NULL;
    json_t *array = json_array();
    for (int i = 0; i < accounts->count; i++) {
        const struct cluster_account *account = &accounts->list[i];
        json_t *json = json_object();
        status_put_texts(json, account, account_texts, ARRAY_LEN(account_texts));
        json_put_bool(json, "applied", account->applied);
        status_put_time(json, "since", account->since_ms);
        json_array_append_new(array, json);
    }
    return array;
}

void cluster_accounts_decode(const json_t *array, struct cluster_accounts *ret)
{
    size_t i;
    json_t *element;
    ret->count = 0;
    json_array_foreach(array, i, element) {
        if (!json_is_object(element) || ret->count == ACCOUNT_KIND_COUNT)
            continue;
        struct cluster_account *account = &ret->list[ret->count++];
        *account = (struct cluster_account){
            .applied = json_path_bool(element, "applied", false), .since_ms = status_read_time(element, "since")};
        status_read_texts(element, account, account_texts, ARRAY_LEN(account_texts));
    }
}
