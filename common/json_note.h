/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_note.h: one record (json_fields.h) as the JSON text of a small file: what a process must know again when it is
 * started anew.
 */
#ifndef KM_COMMON_JSON_NOTE_H
#define KM_COMMON_JSON_NOTE_H

#include "common/json_fields.h"

/* The file is the old one or the new one, never half (fs_write_file_atomic), and its owner's alone (0600). */
int json_note_write(const char *path, const struct json_field *fields, size_t count, const void *record,
    struct error *err) KM_MUST_CHECK;
/* Of at most max bytes. -1: it cannot be read (err->code ENOENT: there is none), or holds no such record; then *record
 * is not to be used. Positions are taken into pool; NULL: the record has none. */
int json_note_read(const char *path, size_t max, const struct json_field *fields, size_t count,
    struct position_pool *pool, void *record, struct error *err) KM_MUST_CHECK;

#endif
