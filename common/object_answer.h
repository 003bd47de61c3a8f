/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_answer.h: what servers of objects answer, whichever language it comes in (s3_xml.h, volume_store.h).
 */
#ifndef KM_COMMON_OBJECT_ANSWER_H
#define KM_COMMON_OBJECT_ANSWER_H

#include "common/base.h"

/* Texts are "" where the server does not say. */
struct object_refusal {
    char code[64];
    char message[256];
    char region[64];      /* S3: AuthorizationHeaderMalformed, PermanentRedirect */
    char endpoint[128];   /* S3: PermanentRedirect, TemporaryRedirect */
    char server_time[32]; /* S3: RequestTimeTooSkewed */
};

/* One of a list. */
struct object_found {
    const char *key; /* with the target's prefix; of a common prefix (a folder): ends in "/" */
    bool is_prefix;
    uint64_t bytes;
    int64_t modified_ms;
};

#endif
