#include "common/base.h"

#include "common/agent_api.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/tls.h"

static const char *const phase_names[AGENT_PHASE_COUNT] = {
    [AGENT_PHASE_UNKNOWN] = "Unknown",
    [AGENT_PHASE_STARTING] = "Starting",
    [AGENT_PHASE_RUNNING] = "Running",
    [AGENT_PHASE_HUNG] = "Hung",
    [AGENT_PHASE_DOWN] = "Down",
};

static const char *const flavour_names[AGENT_FLAVOUR_COUNT] = {
    [AGENT_FLAVOUR_UNKNOWN] = "",
    [AGENT_FLAVOUR_MYSQL] = "mysql",
    [AGENT_FLAVOUR_MARIADB] = "mariadb",
    [AGENT_FLAVOUR_PERCONA] = "percona",
};

const char *agent_phase_name(enum agent_phase phase)
{
    return (unsigned)phase < AGENT_PHASE_COUNT ? phase_names[phase] : phase_names[AGENT_PHASE_UNKNOWN];
}

const char *agent_flavour_name(enum agent_flavour flavour)
{
    return (unsigned)flavour < AGENT_FLAVOUR_COUNT ? flavour_names[flavour] : "";
}

/* The index of text among names, 0 (the unknown) if it is none of them. */
static unsigned name_index(const char *const *names, unsigned count, const char *text)
{
    for (unsigned i = 0; i < count; i++) {
        if (str_eq(names[i], text))
            return i;
    }
    return 0;
}

/* ---- instance config ---- */

void agent_instance_config_release(struct agent_instance_config *config)
{
    free(config->cluster_namespace);
    free(config->cluster_name);
    free(config->cluster_uid);
    free(config->service_domain);
    free(config->database);
    free(config->username);
    *config = (struct agent_instance_config){0};
}

json_t *agent_instance_config_encode(const struct agent_instance_config *config)
{
    json_t *document = json_object();

    json_put_str(document, "namespace", config->cluster_namespace);
    json_put_str(document, "cluster", config->cluster_name);
    json_put_str(document, "clusterUID", config->cluster_uid);
    json_put_str(document, "serviceDomain", config->service_domain);
    json_put_int(document, "serverIdBase", config->server_id_base);
    json_put_int(document, "replicas", config->replicas);
    json_put_str(document, "database", config->database);
    json_put_str(document, "username", config->username);
    return document;
}

static int want_copy(const json_t *document, const char *path, char **ret, struct error *err)
{
    const char *text = NULL;

    if (json_want_str(document, path, &text, err) < 0)
        return -1;
    str_replace(ret, str_empty(text) ? NULL : text);
    return 0;
}

int agent_instance_config_decode(const json_t *document, struct agent_instance_config *ret, struct error *err)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config config = {0};
    int64_t server_id_base = 0;
    int64_t replicas = 0;

    if (!json_is_object(document))
        return error_set(err, ERROR_INVALID, "the instance configuration is no JSON object");
    if (want_copy(document, "namespace", &config.cluster_namespace, err) < 0 ||
        want_copy(document, "cluster", &config.cluster_name, err) < 0 ||
        want_copy(document, "clusterUID", &config.cluster_uid, err) < 0 ||
        want_copy(document, "serviceDomain", &config.service_domain, err) < 0 ||
        want_copy(document, "database", &config.database, err) < 0 ||
        want_copy(document, "username", &config.username, err) < 0 ||
        json_want_int(document, "serverIdBase", 0, UINT32_MAX, &server_id_base, err) < 0 ||
        json_want_int(document, "replicas", 0, INT32_MAX, &replicas, err) < 0)
        return error_prefix(err, "instance configuration");
    config.server_id_base = (uint32_t)server_id_base;
    config.replicas = (int)replicas;
    *ret = config;
    config = (struct agent_instance_config){0};
    return 0;
}

static void add_account_file(struct strbuf *text, const char *name, const char *content)
{
    if (content)
        strbuf_addf(text, "%s %zu\n%s\n", name, strlen(content), content);
}

void agent_accounts_hash(const char *cluster_uid, const struct agent_account_files *files, char out[static 65])
{
    _cleanup_(strbuf_release_secret) struct strbuf text;

    strbuf_init(&text, FS_READ_MAX);
    strbuf_addf(&text, "%s\n", str_or_empty(cluster_uid));
    add_account_file(&text, "root", files->root);
    add_account_file(&text, "replication", files->replication);
    add_account_file(&text, "monitor", files->monitor);
    add_account_file(&text, "user", files->user);
    tls_sha256_hex(text.buf, text.len, out);
}

/* ---- status: one table for encoding, decoding and comparing ---- */

enum field_type { FIELD_TEXT, FIELD_BOOL, FIELD_U32, FIELD_I64, FIELD_U64 };
enum field_change { CHANGE_COUNTS, CHANGE_IGNORED, CHANGE_ONE_PERCENT };

struct field {
    const char *key;
    enum field_type type;
    enum field_change change;
    size_t offset;
    size_t size;
};

#define FIELD(key, type, change, member)                                                                     \
    {                                                                                                        \
        key, type, change, offsetof(struct agent_status, member), sizeof(((struct agent_status *)0)->member) \
    }

static const struct field fields[] = {
    FIELD("instance", FIELD_TEXT, CHANGE_COUNTS, instance),
    FIELD("bootId", FIELD_TEXT, CHANGE_COUNTS, boot_id),
    FIELD("sequence", FIELD_U64, CHANGE_IGNORED, sequence),
    FIELD("version", FIELD_TEXT, CHANGE_COUNTS, version),
    FIELD("serverUUID", FIELD_TEXT, CHANGE_COUNTS, server_uuid),
    FIELD("serverId", FIELD_U32, CHANGE_COUNTS, server_id),
    FIELD("uptimeSeconds", FIELD_I64, CHANGE_IGNORED, uptime_s),
    FIELD("ready", FIELD_BOOL, CHANGE_COUNTS, ready),
    FIELD("readyReason", FIELD_TEXT, CHANGE_COUNTS, ready_reason),
    FIELD("readOnly", FIELD_BOOL, CHANGE_COUNTS, read_only),
    FIELD("accountsApplied", FIELD_BOOL, CHANGE_COUNTS, accounts_applied),
    FIELD("accountsHash", FIELD_TEXT, CHANGE_COUNTS, accounts_hash),
    FIELD("mycnfHash", FIELD_TEXT, CHANGE_COUNTS, mycnf_hash),
    FIELD("gtidExecuted", FIELD_TEXT, CHANGE_COUNTS, gtid_executed),
    FIELD("volumeBytes", FIELD_U64, CHANGE_COUNTS, volume_bytes),
    FIELD("volumeFreeBytes", FIELD_U64, CHANGE_ONE_PERCENT, volume_free_bytes),
    FIELD("probeMicroseconds", FIELD_I64, CHANGE_IGNORED, probe_us),
    FIELD("certificateNotAfterMs", FIELD_I64, CHANGE_COUNTS, certificate_not_after_ms),
};

static const void *field_at(const struct agent_status *status, const struct field *field)
{
    return (const char *)status + field->offset;
}

static json_t *field_encode(const struct agent_status *status, const struct field *field)
{
    const void *at = field_at(status, field);

    switch (field->type) {
    case FIELD_TEXT:
        return *(const char *)at ? json_string(at) : NULL;
    case FIELD_BOOL:
        return *(const bool *)at ? json_true() : NULL;
    case FIELD_U32:
        return *(const uint32_t *)at ? json_integer(*(const uint32_t *)at) : NULL;
    default:
        return *(const int64_t *)at ? json_integer(*(const int64_t *)at) : NULL;
    }
}

static json_t *problems_encode(const struct agent_status *status)
{
    json_t *list = json_array();

    for (int i = 0; i < status->problem_count; i++) {
        json_t *item = json_object();
        json_put_str(item, "reason", status->problems[i].reason);
        json_put_str(item, "message", status->problems[i].message);
        json_array_append_new(list, item);
    }
    return list;
}

void agent_status_encode(const struct agent_status *status, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();

    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        json_put(document, fields[i].key, field_encode(status, &fields[i]));
    json_put_str(document, "phase", agent_phase_name(status->phase));
    if (status->flavour != AGENT_FLAVOUR_UNKNOWN)
        json_put_str(document, "flavour", agent_flavour_name(status->flavour));
    if (status->problem_count > 0)
        json_put(document, "problems", problems_encode(status));
    char *text = json_text(document);
    strbuf_adds(out, text);
    free(text);
}

/* Copies what fits; a cut text ends in "...", and not in half a UTF-8 character. */
static void copy_text(char *to, size_t size, const char *text)
{
    size_t len = strlen(text);

    if (len >= size) {
        len = size - sizeof("...");
        /* text is longer than len: NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
            len--;
        memcpy(to, text, len);
        memcpy(to + len, "...", sizeof("..."));
        return;
    }
    memcpy(to, text, len + 1);
}

static int field_decode(
    const json_t *document, const struct field *field, struct agent_status *status, struct error *err)
{
    void *at = (char *)status + field->offset;
    const char *text = NULL;
    int64_t number = 0;

    if (field->type == FIELD_TEXT) {
        if (json_want_str(document, field->key, &text, err) < 0)
            return -1;
        copy_text(at, field->size, str_or_empty(text));
        return 0;
    }
    if (field->type == FIELD_BOOL)
        return json_want_bool(document, field->key, at, err);
    int64_t max = field->type == FIELD_U32 ? UINT32_MAX : INT64_MAX;
    if (json_want_int(document, field->key, 0, max, &number, err) < 0)
        return -1;
    if (field->type == FIELD_U32)
        *(uint32_t *)at = (uint32_t)number;
    else
        *(int64_t *)at = number;
    return 0;
}

static int problems_decode(const json_t *document, struct agent_status *status, struct error *err)
{
    const json_t *list = NULL;

    if (json_want_array(document, "problems", &list, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        agent_status_add_problem(status, json_path_str(item, "reason", ""), "%s", json_path_str(item, "message", ""));
    }
    return 0;
}

int agent_status_decode(const char *text, size_t len, struct agent_status *ret, struct error *err)
{
    if (len > AGENT_STATUS_MAX)
        return error_set(err, ERROR_TOO_LARGE, "an agent's status has %zu bytes", len);
    _cleanup_(json_decrefp) json_t *document = json_parse(text, len, err);
    struct agent_status status = {0};

    if (!document)
        return error_prefix(err, "agent status");
    if (!json_is_object(document))
        return error_set(err, ERROR_PROTOCOL, "an agent's status is no JSON object");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (field_decode(document, &fields[i], &status, err) < 0)
            return error_prefix(err, "agent status");
    }
    if (problems_decode(document, &status, err) < 0)
        return error_prefix(err, "agent status");
    status.phase = (enum agent_phase)name_index(phase_names, AGENT_PHASE_COUNT, json_path_str(document, "phase", ""));
    status.flavour =
        (enum agent_flavour)name_index(flavour_names, AGENT_FLAVOUR_COUNT, json_path_str(document, "flavour", ""));
    *ret = status;
    return 0;
}

static bool within_one_percent(uint64_t a, uint64_t b)
{
    uint64_t difference = a > b ? a - b : b - a;

    return difference <= MAX_OF(a, b) / 100;
}

static bool field_same(const struct agent_status *a, const struct agent_status *b, const struct field *field)
{
    const void *at_a = field_at(a, field);
    const void *at_b = field_at(b, field);

    if (field->change == CHANGE_IGNORED)
        return true;
    if (field->change == CHANGE_ONE_PERCENT)
        return within_one_percent(*(const uint64_t *)at_a, *(const uint64_t *)at_b);
    return field->type == FIELD_TEXT ? strcmp(at_a, at_b) == 0 : memcmp(at_a, at_b, field->size) == 0;
}

bool agent_status_same(const struct agent_status *a, const struct agent_status *b)
{
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!field_same(a, b, &fields[i]))
            return false;
    }
    if (a->phase != b->phase || a->flavour != b->flavour || a->problem_count != b->problem_count)
        return false;
    for (int i = 0; i < a->problem_count; i++) {
        if (strcmp(a->problems[i].reason, b->problems[i].reason) != 0 ||
            strcmp(a->problems[i].message, b->problems[i].message) != 0)
            return false;
    }
    return true;
}

void agent_status_add_problem(struct agent_status *status, const char *reason, const char *fmt, ...)
{
    if (status->problem_count >= AGENT_PROBLEMS_MAX)
        return;
    struct agent_problem *problem = &status->problems[status->problem_count++];
    char *message;
    va_list ap;

    va_start(ap, fmt);
    message = xvasprintf(fmt, ap);
    va_end(ap);
    copy_text(problem->reason, sizeof(problem->reason), reason);
    copy_text(problem->message, sizeof(problem->message), message);
    free(message);
}
