/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status_values.h: members of a status as JSON and back: texts by tables, so that both directions cannot differ, times,
 * counts.
 *
 * What is empty is left out, and what is absent or malformed is read as empty: a status may be of another version. A
 * key of one that is read may be a path (json_path_str).
 */
#ifndef KM_STATUS_VALUES_H
#define KM_STATUS_VALUES_H

#include "common/base.h"

#include <jansson.h>

/* A char array of a struct. */
struct status_text {
    const char *key;
    size_t offset, size;
};
/* An int of a struct, or an int64_t. */
struct status_number {
    const char *key;
    size_t offset;
};
#define STATUS_TEXT(type, key, member)                                         \
    {                                                                          \
        key, offsetof(struct type, member), sizeof(((struct type *)0)->member) \
    }
#define STATUS_NUMBER(type, key, member)   \
    {                                      \
        key, offsetof(struct type, member) \
    }

void status_put_texts(json_t *json, const void *record, const struct status_text *texts, size_t count);
/* What is too long is cut. */
void status_read_texts(const json_t *json, void *record, const struct status_text *texts, size_t count);

void status_put_positive(json_t *json, const char *key, int64_t value);
int status_clamp_int(int64_t value);

/* RFC 3339 from wall clock in milliseconds; 0: left out, and read for anything else, a time before 1970 as well: a time
 * that is read is one that can be written again. */
void status_put_time(json_t *json, const char *key, int64_t realtime_ms);    /* in whole seconds */
void status_put_time_ms(json_t *json, const char *key, int64_t realtime_ms); /* with three decimals */
int64_t status_read_time(const json_t *json, const char *key);

#endif
