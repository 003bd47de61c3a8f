/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_fields.h: a struct of plain members as a JSON object and back, by one table, so that both directions cannot
 * differ.
 *
 * Members are char arrays, positions, bools, fixed-width integers and enums with names. Zero values are left out when
 * encoding and are what absent members decode to; unknown members of the object are ignored. Pure.
 */
#ifndef KM_COMMON_JSON_FIELDS_H
#define KM_COMMON_JSON_FIELDS_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"
#include "common/position.h"
#include "common/strbuf.h"

enum json_field_type {
    JSON_FIELD_TEXT,     /* char[]; what does not fit is cut and ends in "..." */
    JSON_FIELD_POSITION, /* const char *; NULL counts as "" (position.h) */
    JSON_FIELD_BOOL,
    JSON_FIELD_U32,
    JSON_FIELD_I64, /* not negative */
    JSON_FIELD_U64,
    JSON_FIELD_NAME, /* an enum; texts in `names`, [0] is the unknown */
};

/* What a difference means to those who watch for changes. */
enum json_field_change { CHANGE_COUNTS, CHANGE_IGNORED, CHANGE_ONE_PERCENT };

struct json_field {
    const char *key;
    enum json_field_type type;
    enum json_field_change change;
    size_t offset;
    size_t size;
    const char *const *names;
    unsigned name_count;
};

#define JSON_FIELD(record, key, type, change, member)                                                     \
    {                                                                                                     \
        key, type, change, offsetof(struct record, member), sizeof(((struct record *)0)->member), NULL, 0 \
    }
#define JSON_FIELD_ENUM(record, key, change, member, names)                                                         \
    {                                                                                                               \
        key, JSON_FIELD_NAME, change, offsetof(struct record, member), sizeof(((struct record *)0)->member), names, \
            ARRAY_LEN(names)                                                                                        \
    }

void json_fields_encode(const struct json_field *fields, size_t count, const void *record, json_t *object);
/* Appends the same object as text, as json_text would, without making it: many times as fast. False: a text in it needs
 * escapes; then what was appended is of no use. */
bool json_fields_print(
    const struct json_field *fields, size_t count, const void *record, struct strbuf *out) KM_MUST_CHECK;
/* ERROR_PROTOCOL names the member. *record holds what was read up to there. Positions are the object's: valid as long
 * as that, see json_fields_take. */
int json_fields_decode(
    const struct json_field *fields, size_t count, const json_t *object, void *record, struct error *err) KM_MUST_CHECK;
/* Takes the positions of a record that was decoded into a pool. */
void json_fields_take(const struct json_field *fields, size_t count, struct position_pool *pool, void *record);
/* Equal in everything that counts. */
bool json_fields_same(const struct json_field *fields, size_t count, const void *a, const void *b);
/* A hash of everything that counts, save CHANGE_ONE_PERCENT: equal for records that are the same, for those who keep no
 * record. */
uint64_t json_fields_digest(const struct json_field *fields, size_t count, const void *record);

/* The index of text among names, 0 (the unknown) if it is none of them. */
unsigned json_name_index(const char *const *names, unsigned count, const char *text);
/* Copies what fits; a cut text ends in "...", and not in half a UTF-8 character. */
void json_copy_text(char *to, size_t size, const char *text);

#endif
