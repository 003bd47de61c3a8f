/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial_mycnf.h: what a server is given in addition to its my.cnf when it is started on scratch data only to see
 * whether it starts: no network, and no size that would be written or taken at once beyond TRIAL_SIZE_MAX. Pure.
 */
#ifndef KM_AGENT_BOOTSTRAP_TRIAL_MYCNF_H
#define KM_AGENT_BOOTSTRAP_TRIAL_MYCNF_H

#include "common/base.h"

#include "common/error.h"
#include "common/strbuf.h"

#define TRIAL_SIZE_MAX ((uint64_t)(256 * KM_MIB))

/* Appends to `out` a [mysqld] section that goes behind the my.cnf, and to `cut` what it changes, for people:
 * "innodb_buffer_pool_size = 256M instead of 64G", separated by commas; "" nothing. ERROR_TOO_LARGE: too many
 * options. */
int trial_mycnf_add(const char *mycnf, struct strbuf *out, struct strbuf *cut, struct error *err) KM_MUST_CHECK;

/* The file that the my.cnf has the server write its log to, as it stands there; false: to its standard error. */
bool trial_mycnf_log(const char *mycnf, char *ret, size_t size);

/* What a server said before it ended, for people: its errors, else its last lines. */
void trial_mycnf_reason(const char *said, char *ret, size_t size);

/* The options of `mycnf` whose name or value the reason says: "default_time_zone = Nowhere", separated by commas, as
 * many as fit. False, and "": none. */
bool trial_mycnf_blame(const char *mycnf, const char *reason, char *ret, size_t size);

#endif
