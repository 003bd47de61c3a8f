/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/agent_order.h"

#include "common/alloc.h"
#include "common/hashmap.h"
#include "common/json.h"
#include "common/json_fields.h"

const char *const agent_role_names[AGENT_ROLE_COUNT] = {
    [AGENT_ROLE_NONE] = "",
    [AGENT_ROLE_PRIMARY] = "primary",
    [AGENT_ROLE_REPLICA] = "replica",
};
static const char *const seed_names[AGENT_SEED_COUNT] = {
    [AGENT_SEED_NONE] = "",
    [AGENT_SEED_KEEP] = "keep",
    [AGENT_SEED_INITIALISE] = "initialise",
    [AGENT_SEED_CLONE] = "clone",
    [AGENT_SEED_RESTORE] = "restore",
    [AGENT_SEED_RESTORE_BESIDE] = "restoreBeside",
    [AGENT_SEED_TAKE_RESTORED] = "takeRestored",
};
const char *const agent_mark_names[AGENT_MARK_COUNT] = {
    [AGENT_MARK_NONE] = "",
    [AGENT_MARK_LEFT] = "left",
    [AGENT_MARK_RESEED] = "reseed",
};

#define FIELD(key, type, member) JSON_FIELD(agent_order, key, type, CHANGE_COUNTS, member)

static const struct json_field fields[] = {
    FIELD("epoch", JSON_FIELD_U64, epoch),
    JSON_FIELD_ENUM(agent_order, "role", CHANGE_COUNTS, role, agent_role_names),
    FIELD("sourceHost", JSON_FIELD_TEXT, source_host),
    FIELD("sourcePort", JSON_FIELD_U32, source_port),
    FIELD("sourceAgentPort", JSON_FIELD_U32, source_agent_port),
    FIELD("awaitSource", JSON_FIELD_BOOL, await_source),
    FIELD("rotate", JSON_FIELD_BOOL, rotate),
    FIELD("waitFor", JSON_FIELD_POSITION, wait_for),
    FIELD("heartbeat", JSON_FIELD_BOOL, heartbeat),
    FIELD("salvageHost", JSON_FIELD_TEXT, salvage_host),
    FIELD("salvageAgentPort", JSON_FIELD_U32, salvage_agent_port),
    FIELD("semiSync", JSON_FIELD_BOOL, semi_sync),
    FIELD("acks", JSON_FIELD_U32, acks),
    FIELD("maxLagSeconds", JSON_FIELD_U32, max_lag_seconds),
    FIELD("hungMs", JSON_FIELD_U32, hung_ms),
    FIELD("silenceMs", JSON_FIELD_U32, silence_ms),
    FIELD("selfFenceMs", JSON_FIELD_U32, self_fence_ms),
    FIELD("selfFenceMembers", JSON_FIELD_U32, self_fence_members),
    FIELD("drainMs", JSON_FIELD_U32, drain_ms),
    JSON_FIELD_ENUM(agent_order, "seed", CHANGE_COUNTS, seed, seed_names),
    FIELD("replace", JSON_FIELD_BOOL, replace),
    FIELD("beyond", JSON_FIELD_POSITION, beyond),
    FIELD("donorHost", JSON_FIELD_TEXT, donor_host),
    FIELD("donorPort", JSON_FIELD_U32, donor_port),
    FIELD("donorAgentPort", JSON_FIELD_U32, donor_agent_port),
    FIELD("restoreId", JSON_FIELD_TEXT, restore_id),
    FIELD("restoreNumber", JSON_FIELD_U64, restore_number),
    JSON_FIELD_ENUM(agent_order, "mark", CHANGE_COUNTS, mark, agent_mark_names),
    FIELD("setAside", JSON_FIELD_BOOL, set_aside),
    FIELD("truncate", JSON_FIELD_BOOL, truncate),
    FIELD("dropBefore", JSON_FIELD_BOOL, drop_before),
    FIELD("nobodyStays", JSON_FIELD_BOOL, nobody_stays),
    FIELD("leaveThreads", JSON_FIELD_BOOL, leave_threads),
    FIELD("keepStopped", JSON_FIELD_BOOL, keep_stopped),
    FIELD("lockLeft", JSON_FIELD_BOOL, lock_left),
    FIELD("openForRootUntilMs", JSON_FIELD_U64, root_until_ms),
    FIELD("openForRootMs", JSON_FIELD_U32, root_ms),
    FIELD("staysOpen", JSON_FIELD_BOOL, stays_open),
};

const char *agent_role_name(enum agent_role role)
{
    return (unsigned)role < AGENT_ROLE_COUNT ? agent_role_names[role] : "";
}

void agent_order_encode(const struct agent_order *order, struct strbuf *out)
{
    size_t len = out->len;
    if (json_fields_print(fields, ARRAY_LEN(fields), order, out) && !out->overflowed)
        return;
    strbuf_truncate(out, len);
    _cleanup_(json_decrefp) json_t *document = json_object();
    json_fields_encode(fields, ARRAY_LEN(fields), order, document);
    _cleanup_(freep) char *text = json_text(document);
    strbuf_adds(out, text);
}

static int check(const struct agent_order *order, struct error *err)
{
    if (order->epoch == 0)
        return error_set(err, ERROR_INVALID, "epoch: must be at least 1");
    if (order->role == AGENT_ROLE_REPLICA && *order->source_host && order->source_port == 0)
        return error_set(err, ERROR_INVALID, "sourcePort: a source has a port");
    if (*order->salvage_host && order->salvage_agent_port == 0)
        return error_set(err, ERROR_INVALID, "salvageAgentPort: a door has a port");
    if (order->seed == AGENT_SEED_CLONE && (!*order->donor_host || order->donor_agent_port == 0))
        return error_set(err, ERROR_INVALID, "donorHost, donorAgentPort: a clone needs a donor");
    bool beside = order->seed == AGENT_SEED_RESTORE_BESIDE;
    if ((order->seed == AGENT_SEED_RESTORE || beside) && !*order->restore_id)
        return error_set(err, ERROR_INVALID, "restoreId: a restore needs the name of a backup");
    if ((beside || order->seed == AGENT_SEED_TAKE_RESTORED) && order->restore_number == 0)
        return error_set(err, ERROR_INVALID, "restoreNumber: a restore in place has a number");
    return 0;
}

int agent_order_decode(
    const char *text, size_t len, struct position_pool *positions, struct agent_order *ret, struct error *err)
{
    struct agent_order order = {0};

    if (len > AGENT_ORDER_MAX)
        return error_set(err, ERROR_TOO_LARGE, "an order has %zu bytes", len);
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    if (!document)
        return error_prefix(err, "order");
    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "an order is a JSON object");
    if (json_fields_decode(fields, ARRAY_LEN(fields), document, &order, err) < 0 || check(&order, err) < 0)
        return error_prefix(err, "order");
    json_fields_take(fields, ARRAY_LEN(fields), positions, &order);
    *ret = order;
    return 0;
}

void agent_order_hash(const struct agent_order *order, char out[static 17])
{
    _cleanup_(strbuf_release) struct strbuf text;
    struct agent_order identity = *order;

    identity.wait_for = "";
    identity.salvage_host[0] = '\0';
    identity.beyond = "";
    identity.salvage_agent_port = 0;
    identity.nobody_stays = identity.leave_threads = identity.keep_stopped = false;
    identity.lock_left = identity.stays_open = false;
    identity.root_until_ms = identity.root_ms = 0;
    strbuf_init(&text, AGENT_ORDER_MAX);
    agent_order_encode(&identity, &text);
    snprintf(out, 17, "%016llx", (unsigned long long)hash64(HASH64_INIT, text.buf, text.len));
}

/* Wishes are whole seconds, and years apart before two of them are taken for one. */
unsigned agent_aside_of_root(uint64_t root_until_ms)
{
    return (unsigned)(root_until_ms / 1000) << AGENT_ASIDE_ROOT_SHIFT;
}

unsigned agent_order_asides(const struct agent_order *order)
{
    return (order->nobody_stays ? AGENT_ASIDE_NOBODY_STAYS : 0) |
        (order->leave_threads ? AGENT_ASIDE_LEAVE_THREADS : 0) | (order->keep_stopped ? AGENT_ASIDE_KEEP_STOPPED : 0) |
        (order->lock_left ? AGENT_ASIDE_LOCK_LEFT : 0) | (order->stays_open ? AGENT_ASIDE_STAYS_OPEN : 0) |
        agent_aside_of_root(order->root_until_ms);
}
