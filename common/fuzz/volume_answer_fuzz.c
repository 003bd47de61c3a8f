/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the service in front of a volume answers: nothing is read outside of the text (exact heap copies, address
 * sanitizer); what is handed out stands in a page that is whole, and nothing of one that is not; texts keep their
 * bounds.
 */
#include "common/base.h"

#include "common/alloc.h"
#include "common/volume_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            fprintf(stderr, "violated: %s\n", #condition); \
            abort();                                       \
        }                                                  \
    } while (0)

static int on_found(void *arg, const struct object_found *found)
{
    size_t len = strlen(found->key);
    CHECK(len > 0 && found->is_prefix == (found->key[len - 1] == '/'));
    ++*(int *)arg;
    return 0;
}

static void check_list(const char *text, size_t len)
{
    char *after = NULL;
    int seen = 0;
    if (volume_list_read(text, len, on_found, &seen, &after, NULL) < 0)
        CHECK(seen == 0 && !after);
    else
        CHECK(volume_list_read(text, len - 1, on_found, &seen, &after, NULL) < 0);
    free(after);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xmalloc(size + 1); /* whoever gathers an answer ends it with a NUL */
    struct object_refusal refusal;
    size_t ended;
    memcpy(text, data, size);
    text[size] = '\0';
    if (volume_refusal_read(400, text, size, &refusal) == 0)
        CHECK(*refusal.code && strlen(refusal.message) < sizeof(refusal.message));
    CHECK(volume_refusal_read(404, text, size, &refusal) == 0 && *refusal.code);
    if (volume_ended_read(text, size, &ended, NULL) == 0)
        CHECK(ended <= INT64_MAX);
    check_list(text, size);
    free(text);
    return 0;
}
