/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_world.h: a loop, a bucket that can fail (s3_double.h), a store with the prefix "pre/fix" and data for three
 * parts: for the tests of object_store.
 */
#ifndef KM_COMMON_TESTS_OBJECT_WORLD_H
#define KM_COMMON_TESTS_OBJECT_WORLD_H

#include "common/base.h"

#include "common/tests/object_util.h"
#include "common/tests/s3_double.h"

#define WORLD_PART ((size_t)20000)
#define WORLD_LAST ((size_t)777)
#define WORLD_BYTES (2 * WORLD_PART + WORLD_LAST)

struct object_world {
    struct loop *loop;
    struct s3_double *s3;
    struct object_store *store;
    struct object_result out;
    char *data; /* WORLD_BYTES bytes */
    int fds_before;
};

int object_world_set_up(void **state);
int object_world_tear_down(void **state);
struct object_store *object_world_store(struct object_world *w, const struct object_target *target);
/* Waits for done of w->out; 0 or -1 as it says. */
int object_world_wait(struct object_result *out);
/* Sends part 1, 2 or 3 of w->data and waits. */
int object_world_part(struct object_world *w, struct object_upload *upload, int number);
/* Deletes the folder b: nothing may be left in the bucket then. */
void object_world_empty(struct object_world *w);
/* Another try may succeed. */
bool s3_fault_heals(enum s3_fault fault);

#endif
