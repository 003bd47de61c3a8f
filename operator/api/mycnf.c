/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/mycnf.h"

#include "common/alloc.h"
#include "common/buffer_pool.h"
#include "common/json.h"
#include "common/option_size.h"

/* A key that people may not set, and why. Modifiers (loose_, skip_, ...) are taken off before the comparison. */
struct owned_key {
    const char *key; /* with a trailing '*': every key that begins so */
    const char *reason;
};

#define REASON_PLACE "the operator decides where things lie in the pod"
#define REASON_IDENTITY "it differs between members and the operator keeps it unique"
#define REASON_NET "Services, probes and agents rely on it"
#define REASON_ROLE "the operator decides which member accepts writes"
#define REASON_BINLOG "replication and point-in-time recovery rely on it"
#define REASON_WHOLE "replicas must hold everything that was acknowledged, and positions would not tell what they lack"
#define REASON_TLS "certificates are issued and renewed by the operator"
#define REASON_LOGIN "it would lock out the operator, or let everybody in"

/* clang-format off */
static const struct owned_key owned_keys[] = {
    {"basedir", "the database image decides it"},
    {"bind_address", REASON_NET},
    {"binlog_do_db", REASON_WHOLE},
    {"binlog_error_action", "a server that cannot write its binary log must not go on acknowledging commits"},
    {"binlog_ignore_db", REASON_WHOLE},
    {"admin_address", REASON_NET},
    {"chroot", REASON_PLACE},
    {"console", "logs go to the container's output"},
    {"daemonize", "mysqld runs in the foreground of its container"},
    {"datadir", REASON_PLACE},
    {"defaults_extra_file", REASON_PLACE},
    {"defaults_file", REASON_PLACE},
    {"defaults_group_suffix", REASON_PLACE},
    {"enforce_gtid_consistency", REASON_BINLOG},
    {"grant_tables", REASON_LOGIN}, /* skip_grant_tables */
    {"group_replication_*", REASON_ROLE},
    {"gtid_domain_id", REASON_BINLOG},
    {"gtid_mode", REASON_BINLOG},
    {"gtid_strict_mode", REASON_BINLOG},
    {"init_file", "accounts are made by it"},
    {"init_replica", REASON_WHOLE},
    {"init_slave", REASON_WHOLE},
    {"initialize", "the agent initialises data directories"},
    {"initialize_insecure", "the agent initialises data directories"},
    {"innodb_data_home_dir", REASON_PLACE},
    {"innodb_log_group_home_dir", REASON_PLACE},
    {"innodb_read_only", REASON_ROLE},
    {"innodb_undo_directory", REASON_PLACE},
    {"aria_log_dir_path", REASON_PLACE},
    {"log_basename", REASON_PLACE},
    {"log_bin", REASON_BINLOG},
    {"log_bin_basename", REASON_BINLOG},
    {"log_bin_index", REASON_BINLOG},
    {"log_error", "logs go to the container's output"},
    {"log_replica_updates", REASON_BINLOG},
    {"log_slave_updates", REASON_BINLOG},
    {"named_pipe", REASON_NET},
    {"networking", REASON_NET}, /* skip_networking */
    {"old_passwords", REASON_LOGIN},
    {"persisted_globals_load", REASON_ROLE},
    {"pid_file", REASON_PLACE},
    {"plugin_dir", "the database image decides it"},
    {"plugin_load", "it would drop the operator's own plugins; use plugin_load_add"},
    {"port", REASON_NET},
    {"read_only", REASON_ROLE},
    {"relay_log", REASON_BINLOG},
    {"relay_log_index", REASON_BINLOG},
    {"relay_log_info_file", REASON_BINLOG},
    {"master_info_file", REASON_BINLOG},
    {"replica_exec_mode", REASON_WHOLE},
    {"replica_start", REASON_ROLE}, /* skip_replica_start */
    {"replica_skip_errors", REASON_WHOLE},
    {"replicate_do_*", REASON_WHOLE}, /* ..._db, ..._table */
    {"replicate_events_marked_for_skip", REASON_WHOLE},
    {"replicate_ignore_*", REASON_WHOLE},
    {"replicate_rewrite_*", REASON_WHOLE},
    {"replicate_same_server_id", REASON_BINLOG},
    {"replicate_wild_*", REASON_WHOLE},
    {"report_host", REASON_IDENTITY},
    {"report_port", REASON_IDENTITY},
    {"rpl_semi_sync_*", REASON_ROLE},
    {"secure_file_priv", REASON_PLACE},
    {"server_id", REASON_IDENTITY},
    {"slave_exec_mode", REASON_WHOLE},
    {"slave_start", REASON_ROLE}, /* skip_slave_start */
    {"slave_load_tmpdir", REASON_PLACE},
    {"slave_skip_errors", REASON_WHOLE},
    {"replica_load_tmpdir", REASON_PLACE},
    {"socket", REASON_PLACE},
    {"ssl", REASON_TLS}, /* skip_ssl */
    {"ssl_ca", REASON_TLS},
    {"ssl_capath", REASON_TLS},
    {"ssl_cert", REASON_TLS},
    {"ssl_key", REASON_TLS},
    {"super_read_only", REASON_ROLE},
    {"tmpdir", REASON_PLACE},
    {"user", "the pod's security context decides it"},
    {"wsrep_*", REASON_ROLE},
};

/* What the operator must own, then what it prefers. `instead`: keys of people that take this default's place. */
struct base_line {
    const char *line;
    const char *instead[3];
};

static const char *const owned_lines[] = {
    "bind_address = *",
    "port = 3306",
    "log_bin = binlog",
    "relay_log = relay-bin",
    "loose_log_slave_updates = ON",   /* MySQL before 8.0.26, MariaDB */
    "loose_log_replica_updates = ON", /* MySQL since 8.0.26 */
    "loose_gtid_mode = ON",           /* MySQL */
    "loose_enforce_gtid_consistency = ON",
    "loose_gtid_strict_mode = ON",    /* MariaDB */
};

static const struct base_line default_lines[] = {
    {"loose_binlog_format = ROW", {"binlog_format"}}, /* MariaDB's default is MIXED; deprecated in MySQL, where ROW is the only sound value */
    {"sync_binlog = 1", {"sync_binlog"}},             /* MariaDB's default is 0: an acknowledged transaction could vanish */
    {"innodb_flush_log_at_trx_commit = 1", {"innodb_flush_log_at_trx_commit"}},
    {"relay_log_recovery = ON", {"relay_log_recovery"}},
    {"character_set_server = utf8mb4", {"character_set_server"}}, /* latin1 in MySQL 5.7 and MariaDB before 11.6 */
    {"skip_name_resolve", {"skip_name_resolve", "name_resolve"}}, /* no DNS lookup per connection */
    {"loose_mysqlx = OFF", {"mysqlx"}},                           /* MySQL's second protocol: memory and a port that nobody asked for */
    {"local_infile = OFF", {"local_infile"}}, /* LOAD DATA LOCAL lets whoever plays the server read a client's files */
    /* A week of binary logs; MariaDB's default keeps them until the volume is full. The first for MySQL 5.7 and MariaDB
     * 10.5. */
    {"loose_expire_logs_days = 7", {"expire_logs_days", "binlog_expire_logs_seconds"}},
    {"loose_binlog_expire_logs_seconds = 604800", {"expire_logs_days", "binlog_expire_logs_seconds"}},
};
/* clang-format on */

static const char *const modifiers[] = {"loose_", "skip_", "disable_", "enable_", "maximum_"};

static const char *strip_modifiers(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(modifiers); i++) {
        if (str_starts_with(key, modifiers[i])) {
            key += strlen(modifiers[i]);
            i = SIZE_MAX; /* from the start: they may be stacked */
        }
    }
    return key;
}

/* MariaDB takes filters of one connection, too: NAME.replicate_do_db. All other dots belong to components'
 * variables. */
static const char *strip_connection(const char *key)
{
    const char *dot = strrchr(key, '.');
    const char *rest = dot ? strip_modifiers(dot + 1) : key;
    return str_starts_with(rest, "replicate_") ? rest : key;
}

/* Servers take abbreviations of options for the whole, in option files too: `datadi` is datadir. So a key that an owned
 * one begins with is owned. */
static bool owned_matches(const struct owned_key *owned, const char *key)
{
    size_t len = strlen(owned->key);
    size_t key_len = strlen(key);
    bool is_pattern = owned->key[len - 1] == '*';
    if (is_pattern && strncmp(owned->key, key, len - 1) == 0)
        return true;
    return key_len > 0 && strncmp(owned->key, key, key_len) == 0;
}

static const struct owned_key *find_owned(const char *key)
{
    const char *bare = strip_connection(strip_modifiers(key));
    for (size_t i = 0; i < ARRAY_LEN(owned_keys); i++) {
        if (owned_matches(&owned_keys[i], key) || owned_matches(&owned_keys[i], bare))
            return &owned_keys[i];
    }
    return NULL;
}

const char *mycnf_owned_reason(const char *key)
{
    const struct owned_key *owned = find_owned(key);
    return owned ? owned->reason : NULL;
}

/* Shorter than what is owned. */
static bool is_abbreviation(const struct owned_key *owned, const char *key)
{
    size_t len = strlen(owned->key) - (owned->key[strlen(owned->key) - 1] == '*');
    return strlen(strip_connection(strip_modifiers(key))) < len;
}

/* '-' to '_'. False if it does not fit. */
static bool normalise(const char *key, char out[static MYCNF_KEY_MAX + 1])
{
    size_t len = strlen(key);
    if (len > MYCNF_KEY_MAX)
        return false;
    for (size_t i = 0; i <= len; i++)
        out[i] = key[i] == '-' ? '_' : key[i];
    return true;
}

/* ---- check ---- */

/* Dots stand in names of component variables (validate_password.policy). */
static bool is_key(const char *key)
{
    if (*key < 'a' || *key > 'z')
        return false;
    for (; *key; key++) {
        if ((*key < 'a' || *key > 'z') && (*key < 'A' || *key > 'Z') && (*key < '0' || *key > '9') && *key != '_' &&
            *key != '.')
            return false;
    }
    return true;
}

static const char *wrong_with_value(const json_t *value)
{
    if (json_is_number(value) || json_is_boolean(value))
        return NULL;
    if (!json_is_string(value))
        return "must be a string, number or boolean, or an array of those";
    const char *text = json_string_value(value);
    if (json_string_length(value) > MYCNF_VALUE_MAX)
        return "is too long: servers read lines of 4096 bytes";
    for (size_t i = 0; i < json_string_length(value); i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 127)
            return "must not hold line breaks or control characters";
    }
    return NULL;
}

static const char *wrong_with_values(const json_t *value)
{
    if (!json_is_array(value))
        return json_is_null(value) ? NULL : wrong_with_value(value);
    const char *wrong = NULL;
    for (size_t i = 0; !wrong && i < json_array_size(value); i++)
        wrong = wrong_with_value(json_array_get(value, i));
    return wrong;
}

#define SHOWN_KEY_MAX 64

/* The key may be anything: what is no printable ASCII is escaped, and a long one is cut. */
static void quote_key(const char *key, char out[static SHOWN_KEY_MAX + 16])
{
    size_t len = 0;
    out[len++] = '"';
    for (; *key && len < SHOWN_KEY_MAX; key++) {
        if (*key < ' ' || *key > '~') {
            snprintf(out + len, sizeof("\\xff"), "\\x%02x", (unsigned char)*key);
            len += strlen("\\xff");
        } else {
            if (*key == '"' || *key == '\\')
                out[len++] = '\\';
            out[len++] = *key;
        }
    }
    snprintf(out + len, 8, "%s\"", *key ? "..." : "");
}

static void add_no_name(const char *key, const char *prefix, struct api_problems *problems)
{
    char shown[SHOWN_KEY_MAX + 16];
    quote_key(key, shown);
    if (strlen(key) > MYCNF_KEY_MAX)
        api_problems_add(problems, prefix, "%s is no option name: it has more than %d bytes", shown, MYCNF_KEY_MAX);
    else
        api_problems_add(problems, prefix,
            "%s is no option name: lower case letters, digits, '_', '-' and '.', a letter first", shown);
}

static void check_key(
    const char *key, const json_t *value, const char *prefix, json_t *seen, struct api_problems *problems)
{
    char path[API_PATH_MAX], name[MYCNF_KEY_MAX + 1];
    snprintf(path, sizeof(path), "%.90s.%.64s", prefix, key);
    if (!normalise(key, name) || !is_key(name)) {
        add_no_name(key, prefix, problems);
        return;
    }
    const struct owned_key *owned = find_owned(name);
    bool is_short = owned && is_abbreviation(owned, name);
    if (owned && !is_short)
        api_problems_add(problems, path, "is managed by kube-mysql: %s", owned->reason);
    else if (is_short && !wrong_with_values(value))
        api_problems_add(problems, path, "is taken by servers for %s, which is managed by kube-mysql: %s", owned->key,
            owned->reason);
    else if (json_object_get(seen, name))
        api_problems_add(problems, path, "is given twice ('-' and '_' are the same)");
    else if (wrong_with_values(value))
        api_problems_add(problems, path, "%s", wrong_with_values(value));
    json_object_set_new(seen, name, json_true());
}

void mycnf_validate(const json_t *mycnf, const char *prefix, struct api_problems *problems)
{
    if (!mycnf)
        return;
    if (json_object_size(mycnf) > MYCNF_KEYS_MAX) {
        api_problems_add(problems, prefix, "must have at most %d keys", MYCNF_KEYS_MAX);
        return;
    }
    _cleanup_(json_decrefp) json_t *seen = json_object();
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)mycnf, key, value) {
        check_key(key, value, prefix, seen, problems);
    }
}

/* ---- merge ---- */

static void lay_over(json_t *target, const json_t *over)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)over, key, value) {
        char name[MYCNF_KEY_MAX + 1];
        const char *target_key = normalise(key, name) ? name : key;
        if (json_is_null(value))
            json_object_del(target, target_key);
        else
            json_object_set(target, target_key, value);
    }
}

json_t *mycnf_merge(const json_t *base, const json_t *over)
{
    json_t *merged = json_object();
    lay_over(merged, base);
    lay_over(merged, over);
    return merged;
}

/* ---- render ---- */

/* Option files cut comments at '#', take quotes off, strip blanks and read backslash escapes. */
static void add_text(struct strbuf *out, const char *text)
{
    size_t len = strlen(text);
    bool plain = len == 0 || (text[0] != ' ' && text[len - 1] != ' ' && !strpbrk(text, "#;\"'\\"));
    if (plain) {
        strbuf_adds(out, text);
        return;
    }
    strbuf_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            strbuf_addc(out, '\\');
        strbuf_addc(out, *text);
    }
    strbuf_addc(out, '"');
}

/* "skip_x = ON" is an error for options whose own name is x, a bare "skip_x" is right for all. */
static bool is_bare(const char *key, const json_t *value)
{
    if (str_starts_with(key, "loose_"))
        key += strlen("loose_");
    return json_is_true(value) &&
        (str_starts_with(key, "skip_") || str_starts_with(key, "disable_") || str_starts_with(key, "enable_"));
}

static void add_option(struct strbuf *out, const char *key, const json_t *value)
{
    strbuf_adds(out, key);
    if (!is_bare(key, value)) {
        strbuf_adds(out, " = ");
        if (json_is_string(value))
            add_text(out, json_string_value(value));
        else if (json_is_boolean(value))
            strbuf_adds(out, json_is_true(value) ? "ON" : "OFF");
        else if (json_is_integer(value))
            strbuf_addf(out, "%lld", (long long)json_integer_value(value));
        else
            strbuf_addf(out, "%.15g", json_number_value(value));
    }
    strbuf_addc(out, '\n');
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_options(struct strbuf *out, const json_t *mycnf)
{
    size_t count = 0;
    _cleanup_(freep) const char **keys = xnew_array(const char *, json_object_size(mycnf) + 1);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)mycnf, key, value) {
        keys[count++] = key;
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++) {
        value = json_object_get(mycnf, keys[i]);
        if (!json_is_array(value))
            add_option(out, keys[i], value);
        for (size_t j = 0; j < json_array_size(value); j++)
            add_option(out, keys[i], json_array_get(value, j));
    }
}

/* Whether people set `key`, with or without loose_. */
static bool is_set(const json_t *mycnf, const char *key)
{
    char loose[MYCNF_KEY_MAX + 1];
    snprintf(loose, sizeof(loose), "loose_%s", key);
    return json_object_get(mycnf, key) || json_object_get(mycnf, loose);
}

int64_t mycnf_default_pool_bytes(const json_t *mycnf, int64_t memory_limit_bytes)
{
    if (is_set(mycnf, "innodb_buffer_pool_size") || is_set(mycnf, "innodb_dedicated_server"))
        return 0;
    return buffer_pool_bytes(memory_limit_bytes);
}

static void add_defaults(struct strbuf *out, const json_t *mycnf, int64_t memory_limit_bytes)
{
    for (size_t i = 0; i < ARRAY_LEN(default_lines); i++) {
        bool replaced = false;
        for (size_t j = 0; j < ARRAY_LEN(default_lines[i].instead) && default_lines[i].instead[j]; j++)
            replaced = replaced || is_set(mycnf, default_lines[i].instead[j]);
        if (!replaced)
            strbuf_addf(out, "%s\n", default_lines[i].line);
    }
    int64_t pool = mycnf_default_pool_bytes(mycnf, memory_limit_bytes);
    if (pool > 0)
        strbuf_addf(out, "innodb_buffer_pool_size = %lld\n", (long long)pool);
}

int64_t mycnf_value_bytes(const json_t *value)
{
    if (json_is_array(value)) /* the last one holds */
        value = json_array_get(value, json_array_size(value) - 1);
    if (json_is_integer(value))
        return json_integer_value(value);
    char number[32] = "";
    if (json_is_real(value)) /* as it is rendered */
        snprintf(number, sizeof(number), "%.15g", json_real_value(value));
    const char *text = json_is_real(value) ? number : str_or_empty(json_string_value(value));
    uint64_t bytes;
    text += strspn(text, " \t\n\v\f\r");
    size_t len = option_size_read(text, &bytes);
    return text[len] ? 0 : (int64_t)MIN_OF(bytes, (uint64_t)INT64_MAX);
}

/* Whoever wants smaller ones has them. */
static void add_binlog_size(struct strbuf *out, const json_t *mycnf, int64_t max_bytes)
{
    static const char *const keys[] = {"max_binlog_size", "loose_max_binlog_size"};
    int64_t quarter = MIN_OF(max_bytes / 4, 1024LL * KM_MIB) / 4096 * 4096;
    bool is_less = false;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        int64_t wanted = mycnf_value_bytes(json_object_get(mycnf, keys[i]));
        is_less = is_less || (wanted > 0 && wanted <= quarter);
    }
    if (max_bytes > 0 && !is_less)
        strbuf_addf(out, "# spec.binlogs.maxSize\nmax_binlog_size = %lld\n", (long long)quarter);
}

void mycnf_render(const json_t *mycnf, const struct mycnf_terms *terms, struct strbuf *out)
{
    strbuf_adds(out, "# Written by kube-mysql; changes are overwritten. Set spec.mycnf instead.\n[mysqld]\n");
    for (size_t i = 0; i < ARRAY_LEN(owned_lines); i++)
        strbuf_addf(out, "%s\n", owned_lines[i]);
    strbuf_adds(out, "# defaults of kube-mysql\n");
    add_defaults(out, mycnf, terms->memory_limit_bytes);
    if (json_object_size(mycnf) > 0) {
        strbuf_adds(out, "# spec.mycnf\n");
        add_options(out, mycnf);
    }
    add_binlog_size(out, mycnf, terms->binlog_max_bytes);
    if (terms->require_tls) /* MySQL 5.6 does not know it, and its agent says so */
        strbuf_adds(out, "# spec.tls.mode\nloose_require_secure_transport = ON\n");
}
