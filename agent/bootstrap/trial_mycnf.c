/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/trial_mycnf.h"

#include <ctype.h>

#include "agent/bootstrap/mycnf_check.h"
#include "agent/mysql/variables.h"
#include "common/alloc.h"
#include "common/option_size.h"
#include "common/strvec.h"

/* The redo log of older servers is so many files of one size, 2 by default. */
#define LOG_FILES_MAX 4
#define LOG_FILES_DEFAULT 2
#define UNDO_TABLESPACES_MAX 16 /* of 16 MiB */
#define LAST_LINES 3
/* A shorter value ("1", "ON") is found in any sentence. */
#define VALUE_MIN 4

enum kind {
    KIND_BYTES,
    KIND_LOG_FILE, /* the size of one of innodb_log_files_in_group */
    KIND_COUNT,
    KIND_FILES,     /* "ibdata1:12M;ibdata2:1G:autoextend" */
    KIND_DEDICATED, /* the server sizes itself by the machine */
};

/* What a server writes, fills or takes before it answers. */
static const struct {
    const char *name;
    enum kind kind;
    uint64_t most;
} cuts[] = {
    {"aria_pagecache_buffer_size", KIND_BYTES, TRIAL_SIZE_MAX},
    {"innodb_buffer_pool_size", KIND_BYTES, TRIAL_SIZE_MAX},
    {"innodb_data_file_path", KIND_FILES, TRIAL_SIZE_MAX},
    {"innodb_dedicated_server", KIND_DEDICATED, 0},
    {"innodb_log_buffer_size", KIND_BYTES, TRIAL_SIZE_MAX},
    {"innodb_log_file_size", KIND_LOG_FILE, TRIAL_SIZE_MAX},
    {"innodb_log_files_in_group", KIND_COUNT, LOG_FILES_MAX},
    {"innodb_redo_log_capacity", KIND_BYTES, TRIAL_SIZE_MAX},
    {"innodb_temp_data_file_path", KIND_FILES, TRIAL_SIZE_MAX},
    {"innodb_undo_tablespaces", KIND_COUNT, UNDO_TABLESPACES_MAX},
    {"key_buffer_size", KIND_BYTES, TRIAL_SIZE_MAX},
    {"query_cache_size", KIND_BYTES, TRIAL_SIZE_MAX},
};

/* ---- sizes ---- */

static void add_size(uint64_t bytes, struct strbuf *out)
{
    if (bytes % (uint64_t)KM_MIB == 0)
        strbuf_addf(out, "%lluM", (unsigned long long)(bytes / (uint64_t)KM_MIB));
    else
        strbuf_addf(out, "%llu", (unsigned long long)bytes);
}

/* The size of each file is what stands behind its first colon. True if one was too large. */
static bool cut_files(const char *paths, uint64_t most, struct strbuf *out)
{
    bool is_cut = false;

    for (const char *at = paths; *at;) {
        size_t len = strcspn(at, ";"), name_len = strcspn(at, ":;");
        const char *size = at + MIN_OF(name_len + 1, len);
        uint64_t bytes;
        size_t size_len = option_size_read(size, &bytes);
        const char *rest = size + size_len;
        strbuf_add(out, at, (size_t)(size - at));
        if (bytes > most)
            add_size(most, out);
        else
            strbuf_add(out, size, size_len);
        strbuf_add(out, rest, (size_t)(at + len - rest));
        is_cut |= bytes > most;
        at += len;
        if (*at)
            strbuf_addc(out, *at++);
    }
    return is_cut;
}

static const struct variable_change *option_of(const struct variable_changes *options, const char *name)
{
    for (size_t i = 0; i < options->n; i++) {
        if (str_eq(options->v[i].name, name))
            return &options->v[i];
    }
    return NULL;
}

static uint64_t log_file_max(const struct variable_changes *options)
{
    const struct variable_change *count = option_of(options, "innodb_log_files_in_group");
    uint64_t files = LOG_FILES_DEFAULT;

    if (count)
        option_size_read(count->value, &files);
    return TRIAL_SIZE_MAX / MAX_OF(MIN_OF(files, LOG_FILES_MAX), 1);
}

/* True: the option is to have the value that was appended to `value` instead. */
static bool cut_value(size_t which, const struct variable_changes *options, const char *given, struct strbuf *value)
{
    uint64_t bytes, most = cuts[which].kind == KIND_LOG_FILE ? log_file_max(options) : cuts[which].most;

    switch (cuts[which].kind) {
    case KIND_FILES:
        return cut_files(given, most, value);
    case KIND_DEDICATED:
        strbuf_adds(value, "OFF");
        return !str_eq(given, "0") && strcasecmp(given, "off") != 0;
    case KIND_COUNT:
        strbuf_addf(value, "%llu", (unsigned long long)most);
        break;
    case KIND_BYTES:
    case KIND_LOG_FILE:
        add_size(most, value);
        break;
    }
    option_size_read(given, &bytes);
    return bytes > most;
}

int trial_mycnf_add(const char *mycnf, struct strbuf *out, struct strbuf *cut, struct error *err)
{
    _cleanup_(variable_changes_release) struct variable_changes options = {0};

    if (variables_diff("", mycnf, &options, err) < 0)
        return -1;
    strbuf_adds(out, "\n# for the check alone\n[mysqld]\nskip_networking\n");
    for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
        const struct variable_change *option = option_of(&options, cuts[i].name);
        _cleanup_(strbuf_release) struct strbuf value;
        strbuf_init(&value, 4 * KM_KIB);
        if (!option || !cut_value(i, &options, str_or_empty(option->value), &value))
            continue;
        strbuf_addf(out, "%s%s = %s\n", option->loose ? "loose_" : "", option->name, value.buf);
        strbuf_addf(cut, "%s%s = %s instead of %s", cut->len ? ", " : "", option->name, value.buf,
            *option->value ? option->value : "ON");
    }
    return 0;
}

bool trial_mycnf_log(const char *mycnf, char *ret, size_t size)
{
    _cleanup_(variable_changes_release) struct variable_changes options = {0};
    const struct variable_change *option =
        variables_diff("", mycnf, &options, NULL) == 0 ? option_of(&options, "log_error") : NULL;

    snprintf(ret, size, "%s", option ? str_or_empty(option->value) : "");
    return *ret && !str_eq(ret, "stderr");
}

/* ---- what it said ---- */

void trial_mycnf_reason(const char *said, char *ret, size_t size)
{
    _cleanup_(strvec_release) struct strvec lines;
    size_t used = 0;

    strvec_init(&lines);
    mycnf_check_reason(said, ret, size);
    if (*ret)
        return;
    strvec_split(&lines, said, "\r\n");
    for (size_t i = lines.n > LAST_LINES ? lines.n - LAST_LINES : 0; i < lines.n && used + 1 < size; i++) {
        int written = snprintf(ret + used, size - used, "%s%s", used ? "; " : "", lines.v[i]);
        used = MIN_OF(used + (size_t)MAX_OF(written, 0), size - 1);
    }
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* As a word of its own; '_' of the needle also stands for '-'. */
static bool says(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *at = text; strlen(at) >= len; at++) {
        size_t i = 0;
        while (i < len && (at[i] == word[i] || (word[i] == '_' && at[i] == '-')))
            i++;
        if (i == len && (at == text || !is_word_char(at[-1])) && !is_word_char(at[len]))
            return true;
    }
    return false;
}

bool trial_mycnf_blame(const char *mycnf, const char *reason, char *ret, size_t size)
{
    _cleanup_(variable_changes_release) struct variable_changes options = {0};
    size_t used = 0;

    ret[0] = '\0';
    if (variables_diff("", mycnf, &options, NULL) < 0)
        return false;
    for (size_t i = 0; i < options.n && used + 1 < size; i++) {
        const char *value = str_or_empty(options.v[i].value);
        if (!says(reason, options.v[i].name) && !(strlen(value) >= VALUE_MIN && says(reason, value)))
            continue;
        int written = snprintf(
            ret + used, size - used, "%s%s%s%s", used ? ", " : "", options.v[i].name, *value ? " = " : "", value);
        used = MIN_OF(used + (size_t)MAX_OF(written, 0), size - 1);
    }
    return used > 0;
}
