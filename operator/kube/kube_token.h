/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_token.h: the bearer token of a client, read again when its file changes. Private to kube_client.
 *
 * Projected service account tokens live an hour; the kubelet replaces the file (a rename) well before. The file is
 * looked at once a second at most, and when somebody says that the API server refused the token.
 */
#ifndef KM_KUBE_TOKEN_H
#define KM_KUBE_TOKEN_H

#include "common/base.h"

#include <sys/types.h>
#include <time.h>

#include "common/error.h"

struct kube_token {
    char *file;  /* NULL: the value is fixed */
    char *value; /* secret; NULL: no token */
    struct timespec mtime;
    ino_t inode;
    int64_t checked_ms;
};

/* Copies both; either may be NULL. Reads the file once: an error if that fails. */
int kube_token_init(struct kube_token *token, const char *value, const char *file, struct error *err) KM_MUST_CHECK;
void kube_token_release(struct kube_token *token);
/* The token to send now, or NULL. A file that cannot be read leaves the last value (logged). Valid until the next
 * call. */
const char *kube_token_get(struct kube_token *token, int64_t now_ms);
/* The server refused it: have the next kube_token_get read the file whatever its times say. False if there is no
 * file. */
bool kube_token_distrust(struct kube_token *token);

#endif
