/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/instance_files.h"

#include <sys/stat.h>

#include "agent/bootstrap/instance_config.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/hashmap.h"
#include "common/strbuf.h"

#define SECRET_FILE_MAX (4 * KM_KIB)

static const char *const account_names[] = {"root", "replication", "monitor", "user"};
static const char *const tls_names[] = {"ca.crt", "tls.crt", "tls.key"};

static uint64_t add_file(uint64_t state, const char *path)
{
    struct stat st;
    struct {
        uint64_t inode;
        int64_t size;
        int64_t seconds;
        int64_t nanoseconds;
    } seen = {0};

    if (stat(path, &st) == 0) {
        seen.inode = st.st_ino;
        seen.size = st.st_size;
        seen.seconds = st.st_mtim.tv_sec;
        seen.nanoseconds = st.st_mtim.tv_nsec;
    }
    return hash64(state, &seen, sizeof(seen));
}

static uint64_t add_files(uint64_t state, const char *dir, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_(freep) char *path = xasprintf("%s/%s", dir, names[i]);
        state = add_file(state, path);
    }
    return state;
}

uint64_t instance_files_accounts_signature(const struct agent_paths *paths)
{
    uint64_t state = add_files(HASH64_INIT, paths->accounts_dir, account_names, ARRAY_LEN(account_names));

    return add_file(state, paths->config_instance);
}

uint64_t instance_files_tls_signature(const struct agent_paths *paths)
{
    return add_files(HASH64_INIT, paths->tls_dir, tls_names, ARRAY_LEN(tls_names));
}

/* A missing file is *ret = NULL. The file's bytes are the password: nothing is trimmed, as it is what every other
 * reader of the Secret sees. */
static int read_secret(const char *dir, const char *name, char **ret, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);
    _cleanup_(strbuf_release_secret) struct strbuf text;
    struct error failure = ERROR_INIT;

    strbuf_init(&text, SECRET_FILE_MAX);
    if (fs_read_file(path, &text, &failure) < 0) {
        if (failure.kind == ERROR_NOT_FOUND)
            return 0;
        if (err)
            *err = failure;
        return -1;
    }
    if (strlen(text.buf) != text.len)
        return error_set(err, ERROR_INVALID, "the password in \"%s\" holds a NUL byte", name);
    *ret = xstrdup(text.buf);
    return 0;
}

static int read_passwords(const char *dir, struct accounts_want *want, struct error *err)
{
    if (read_secret(dir, "root", &want->root_password, err) < 0 ||
        read_secret(dir, "replication", &want->replication_password, err) < 0 ||
        read_secret(dir, "monitor", &want->monitor_password, err) < 0 ||
        read_secret(dir, "user", &want->user_password, err) < 0)
        return -1;
    return 0;
}

static const char *missing_file(const struct accounts_want *want)
{
    if (!want->root_password)
        return "root";
    return want->username && !want->user_password ? "user" : NULL;
}

int instance_files_read_accounts(const struct agent_paths *paths, const char *agent_user, struct accounts_want *ret,
    const char **ret_missing, struct error *err)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config instance = {0};
    _cleanup_(accounts_want_release) struct accounts_want want = {0};

    if (instance_config_load(paths->config_instance, &instance, err) < 0 ||
        read_passwords(paths->accounts_dir, &want, err) < 0)
        return -1;
    want.database = steal_ptr(instance.database);
    want.username = steal_ptr(instance.username);
    want.require_tls = instance.require_tls;
    want.agent_user = xstrdup(agent_user);
    struct agent_account_files files = {
        want.root_password, want.replication_password, want.monitor_password, want.user_password};
    agent_accounts_hash(instance.cluster_uid, &files, want.hash);
    *ret_missing = missing_file(&want);
    *ret = want;
    want = (struct accounts_want){0};
    return 0;
}

uint64_t instance_files_read_binlog_max(const struct agent_paths *paths)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config instance = {0};

    return instance_config_load(paths->config_instance, &instance, NULL) < 0 ? 0 : instance.binlog_max_bytes;
}

static int read_pem(const char *dir, const char *name, char **ret, struct error *err)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", dir, name);
    _cleanup_(strbuf_release_secret) struct strbuf text;

    strbuf_init(&text, FS_READ_MAX);
    if (fs_read_file(path, &text, err) < 0)
        return -1;
    *ret = xstrdup(text.buf);
    return 0;
}

void tls_files_release(struct tls_files *files)
{
    tls_keypair_release(&files->pair);
    free(files->ca_pem);
    *files = (struct tls_files){0};
}

int instance_files_read_tls(const struct agent_paths *paths, struct tls_files *ret, struct error *err)
{
    _cleanup_(tls_files_release) struct tls_files files = {0};
    struct tls_cert_info info;

    if (read_pem(paths->tls_dir, "ca.crt", &files.ca_pem, err) < 0 ||
        read_pem(paths->tls_dir, "tls.crt", &files.pair.cert_pem, err) < 0 ||
        read_pem(paths->tls_dir, "tls.key", &files.pair.key_pem, err) < 0 ||
        tls_cert_inspect(files.pair.cert_pem, &info, err) < 0)
        return -1;
    files.not_after_ms = info.not_after_ms;
    *ret = files;
    files = (struct tls_files){0};
    return 0;
}
