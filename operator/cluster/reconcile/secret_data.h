/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_data.h: what the Secrets of a cluster should hold, given what they hold: pure but for fresh randomness.
 *
 * Each function looks at the decoded data of an existing Secret (an object of base64 strings, or NULL if the Secret is
 * absent) and returns a merge patch for `data`: keys to add or replace, null for keys to remove; an empty object if
 * nothing is to be done.
 */
#ifndef KM_SECRET_DATA_H
#define KM_SECRET_DATA_H

#include "common/base.h"

#include <jansson.h>

#include "common/error.h"
#include "common/tls.h"

/* What becomes of key `user`, the password of spec.username. */
enum secret_user {
    SECRET_USER_NONE,     /* removed */
    SECRET_USER_ROOT,     /* removed: user_password is root's, key `root` is set to it */
    SECRET_USER_GIVEN,    /* set to user_password */
    SECRET_USER_GENERATE, /* made if absent */
    SECRET_USER_KEEP,     /* left as it is: its source cannot be read at the moment */
};
json_t *secret_data_accounts(const json_t *data, enum secret_user user, const char *user_password);

/* CA and operator's client certificate. *ret_ca and *ret_client hold what is valid after the patch. */
int secret_data_ca(const json_t *data, const char *common_name, int64_t now_ms, json_t **ret_patch,
    struct tls_keypair *ret_ca, struct tls_keypair *ret_client, struct error *err) KM_MUST_CHECK;

/* The agents' certificate, signed by ca. */
int secret_data_tls(const json_t *data, const struct tls_keypair *ca, const char *const *dns_names, int64_t now_ms,
    json_t **ret_patch, int64_t *ret_not_after_ms, struct error *err) KM_MUST_CHECK;

/* A decoded value of `data`, NULL if absent or malformed; caller frees with secret_free. */
char *secret_data_get(const json_t *data, const char *key);

/* Names of the keys, in order, never a value: "ca.crt, password". Cut with "...". */
void secret_data_key_names(const json_t *data, char *out, size_t size);

#endif
