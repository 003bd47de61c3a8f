/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/replay_word.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/json_fields.h"

#define TOLD(key, type, member) JSON_FIELD(replay_told, key, JSON_FIELD_##type, CHANGE_COUNTS, member)
#define WORD(key, type, member) JSON_FIELD(replay_word, key, JSON_FIELD_##type, CHANGE_COUNTS, member)

static const struct json_field told_fields[] = {
    TOLD("flavour", TEXT, flavour),
    TOLD("gtid", POSITION, gtid),
    TOLD("backupMs", I64, backup_ms),
    TOLD("spool", TEXT, spool),
};

static const char *const said_names[REPLAY_SAID_COUNT] = {
    [REPLAY_SAID_NOTHING] = "",
    [REPLAY_SAID_PLAN] = "plan",
    [REPLAY_SAID_BATCH] = "batch",
    [REPLAY_SAID_END] = "end",
    [REPLAY_SAID_FAILED] = "failed",
};

static const struct json_field word_fields[] = {
    JSON_FIELD_ENUM(replay_word, "replay", CHANGE_COUNTS, said, said_names),
    WORD("number", U64, number),
    WORD("segment", U64, segment),
    WORD("segments", U64, segments),
    WORD("bytes", U64, bytes),
    WORD("totalBytes", U64, total_bytes),
    WORD("atMs", I64, at_ms),
    WORD("gtid", POSITION, gtid),
    WORD("reason", TEXT, reason),
    WORD("message", TEXT, message),
};

static void put_line(const struct json_field *fields, size_t count, const void *record, struct strbuf *out)
{
    _cleanup_(json_decrefp) json_t *document = json_object();

    json_fields_encode(fields, count, record, document);
    _cleanup_(freep) char *text = json_text(document);
    strbuf_adds(out, text);
    strbuf_addc(out, '\n');
}

void replay_told_encode(const struct replay_told *told, struct strbuf *out)
{
    put_line(told_fields, ARRAY_LEN(told_fields), told, out);
}

int replay_told_decode(
    const char *line, size_t len, struct position_pool *positions, struct replay_told *ret, struct error *err)
{
    _cleanup_(json_decrefp) json_t *document = json_parse(line, len, err);
    struct replay_told told = {0};

    if (!document || json_fields_decode(told_fields, ARRAY_LEN(told_fields), document, &told, err) < 0)
        return error_prefix(err, "what is to be replayed");
    json_fields_take(told_fields, ARRAY_LEN(told_fields), positions, &told);
    *ret = told;
    return 0;
}

void replay_word_encode(const struct replay_word *word, struct strbuf *out)
{
    put_line(word_fields, ARRAY_LEN(word_fields), word, out);
}

bool replay_word_decode(const char *line, struct replay_word *ret)
{
    _cleanup_(json_decrefp) json_t *document = *line == '{' ? json_parse(line, strlen(line), NULL) : NULL;
    struct replay_word word = {0};

    if (!json_object_get(document, "replay") ||
        json_fields_decode(word_fields, ARRAY_LEN(word_fields), document, &word, NULL) < 0 ||
        word.said == REPLAY_SAID_NOTHING)
        return false;
    word.positions = position_pool_new(POSITION_TEXT_MAX);
    json_fields_take(word_fields, ARRAY_LEN(word_fields), word.positions, &word);
    *ret = word;
    return true;
}

void replay_word_release(struct replay_word *word)
{
    position_pool_unref(word->positions);
    *word = (struct replay_word){0};
}

void replay_word_keep(struct replay_word *to, const struct replay_word *from)
{
    struct position_pool *old = to->positions;

    *to = *from;
    position_pool_ref(to->positions);
    position_pool_unref(old);
}

char *replay_batch_path(const char *dir, uint64_t number)
{
    return xasprintf("%s/" REPLAY_SPOOL_NAME ".%06llu", dir, (unsigned long long)number);
}
