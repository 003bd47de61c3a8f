/* SPDX-License-Identifier: Apache-2.0 */
/*
 * instance_files.h: the mounted files of an instance (account Secrets, instance.json, certificates), read again when
 * they change.
 *
 * The kubelet swaps whole folders by a symbolic link; a look at inode, size and time of each file once a second finds
 * that.
 */
#ifndef KM_AGENT_INSTANCE_FILES_H
#define KM_AGENT_INSTANCE_FILES_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/accounts.h"
#include "common/error.h"
#include "common/tls.h"

/* Differs whenever one of the files may have changed. */
uint64_t instance_files_accounts_signature(const struct agent_paths *paths);
uint64_t instance_files_tls_signature(const struct agent_paths *paths);

/* Account files and instance.json. ret_missing: the name of a file that is needed and not there (static), or NULL; the
 * rest is filled in nevertheless. */
int instance_files_read_accounts(const struct agent_paths *paths, const char *agent_user, struct accounts_want *ret,
    const char **ret_missing, struct error *err) KM_MUST_CHECK;

/* Of instance.json: spec.binlogs.maxSize. 0: none, or it cannot be read. */
uint64_t instance_files_read_binlog_max(const struct agent_paths *paths);

struct tls_files {
    struct tls_keypair pair;
    char *ca_pem;
    int64_t not_after_ms;
};
int instance_files_read_tls(const struct agent_paths *paths, struct tls_files *ret, struct error *err) KM_MUST_CHECK;
void tls_files_release(struct tls_files *files);

#endif
