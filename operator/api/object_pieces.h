/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_pieces.h: the strings of a small projection, gathered before its block is made (kube_object.h), because the
 * block's size must be known.
 */
#ifndef KM_OBJECT_PIECES_H
#define KM_OBJECT_PIECES_H

#include "common/base.h"

#include "operator/kube/kube_object.h"

#define PIECES_MAX 6

struct pieces {
    char *texts[PIECES_MAX]; /* owned */
    size_t offsets[PIECES_MAX];
    int count;
};

/* offset: of a const char * in the struct; text is taken, NULL is "". */
void pieces_add(struct pieces *pieces, size_t offset, char *text);
/* A JSON string, unescaped and cut at `max` bytes. */
void pieces_add_string(struct pieces *pieces, size_t offset, struct json_slice value, size_t max);
/* The text of a JSON object as it stands; "" for all else. */
void pieces_add_object(struct pieces *pieces, size_t offset, struct json_slice value);
/* The object (kube_object_new) with all strings in its block; the pieces are freed. */
void *pieces_build(struct pieces *pieces, size_t size, const struct kube_meta *meta);
/* The name is a part of the key. */
const char *pieces_name(const struct kube_object *object);

#endif
