/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_util.h: what came of an operation on a store, for tests.
 */
#ifndef KM_COMMON_TESTS_OBJECT_UTIL_H
#define KM_COMMON_TESTS_OBJECT_UTIL_H

#include "common/base.h"

#include "common/object_store.h"
#include "common/strbuf.h"
#include "common/strvec.h"

struct object_result {
    struct loop *loop;
    int done; /* times */
    struct error err;
    struct strbuf body;
    struct strvec names;  /* of a list, in the order they came */
    uint64_t bytes;       /* sum of a list */
    int64_t modified_min; /* of a list's objects */
    size_t stop_after;    /* bytes or entries; 0: never */
};

void object_result_init(struct object_result *result, struct loop *loop);
void object_result_release(struct object_result *result);
/* Turns the loop until done has come once (a minute at most), and expects that kind (ERROR_NONE: success). Ready for
 * the next one afterwards, body and names stay until object_result_clear. */
void object_result_expect(struct object_result *result, enum error_kind kind);
void object_result_clear(struct object_result *result);

/* For the calls of object_store.h; arg is the result. */
void object_result_done(void *arg, const struct error *err);
void object_result_got(void *arg, const struct object_got *got, const struct error *err);
int object_result_data(void *arg, const char *data, size_t len);
int object_result_each(void *arg, const struct object_entry *entry);

/* Bytes that look like nothing else, the same for the same seed. */
char *object_noise(size_t len, uint64_t seed);
/* Uploads a part and waits. */
void object_part_expect(struct object_upload *upload, int number, const char *data, size_t len,
    struct object_result *result, enum error_kind kind);

#endif
