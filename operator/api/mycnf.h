/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mycnf.h: from spec.mycnf maps to the my.cnf in ConfigMap NAME-mysql-config.
 *
 * The file has one section, [mysqld], and the same bytes for every member, so that its hash says who runs it. Lines, in
 * order: what the operator must own, its defaults (which people may change), people's keys in alphabetical order. The
 * agent appends what differs between members or flavours and is no business of people (it comes last, so it wins):
 *   datadir socket pid_file tmpdir secure_file_priv server_id report_host read_only super_read_only init_file ssl_*
 * The operator need not know the flavour: options that only one family or only some versions know carry the prefix
 * `loose_`, which makes a server that does not know them warn instead of fail.
 * https://dev.mysql.com/doc/refman/8.4/en/option-modifiers.html
 *
 * Keys: '-' and '_' are the same and '_' is written. Values: string, number, boolean (ON/OFF; a bare line for skip_* =
 * true), array of those (the option is repeated, e.g. plugin_load_add); null takes an inherited key away. Values are
 * quoted and escaped where the format needs it, so a value can never become another line or section.
 * https://dev.mysql.com/doc/refman/8.4/en/option-files.html
 */
#ifndef KM_MYCNF_H
#define KM_MYCNF_H

#include "common/base.h"

#include <jansson.h>

#include "common/strbuf.h"
#include "operator/api/api_problems.h"

#define MYCNF_KEY_MAX 128
#define MYCNF_VALUE_MAX 3800 /* servers read lines into 4096 bytes */
#define MYCNF_KEYS_MAX 300
#define MYCNF_TEXT_MAX (256 * KM_KIB)

/* Adds a problem for every key that is owned by the operator, malformed, or given twice ('-' and '_'), and for bad
 * values. NULL is fine. */
void mycnf_validate(const json_t *mycnf, const char *prefix, struct api_problems *problems);
/* A new object with normalised keys: over laid over base. Either may be NULL. Inputs that mycnf_validate refuses give
 * keys that it refuses. */
json_t *mycnf_merge(const json_t *base, const json_t *over);

/* What holds whatever the map says, and defaults depend on. */
struct mycnf_terms {
    int64_t memory_limit_bytes; /* of the mysql container; 0: none */
    bool require_tls;           /* no connection over the network without TLS */
    int64_t binlog_max_bytes;   /* of all binary logs: one has a quarter of it at most; 0: no limit */
};
/* Renders a checked, merged map. Appends; same input, same bytes. */
void mycnf_render(const json_t *mycnf, const struct mycnf_terms *terms, struct strbuf *out);

/* innodb_buffer_pool_size as mycnf_render writes it (common/buffer_pool.h). 0: there is no limit, or the (merged) map
 * has the size, or lets the server choose. */
int64_t mycnf_default_pool_bytes(const json_t *mycnf, int64_t memory_limit_bytes);
/* The bytes that an option's value says, as servers read sizes (common/option_size.h); the last element of an array,
 * since a server uses the last line of an option. 0: it is no size. A negative number is returned as it is. */
int64_t mycnf_value_bytes(const json_t *value);
/* Why a (normalised) key is the operator's, or NULL if people may set it. */
const char *mycnf_owned_reason(const char *key);

#endif
