/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/init.h"

#include <errno.h>
#include <unistd.h>

#include "agent/bootstrap/datadir.h"
#include "agent/bootstrap/instance_config.h"
#include "agent/bootstrap/made_with.h"
#include "agent/bootstrap/memory_limit.h"
#include "agent/bootstrap/mycnf_check.h"
#include "agent/bootstrap/mycnf_memory.h"
#include "agent/bootstrap/run_mycnf.h"
#include "agent/bootstrap/server_binary.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/log.h"
#include "common/strbuf.h"

int init_user_name(char **ret, struct error *err)
{
    char *name = server_binary_user_name(geteuid());
    char database_user[SERVER_USER_SIZE];
    unsigned uid = 0;

    if (!name && server_binary_database_user(database_user, &uid))
        return error_set(err, ERROR_NOT_FOUND,
            "user %u has no name in this image's /etc/passwd: its database user is %s, %u; set podSecurity.runAsUser to %u",
            geteuid(), database_user, uid, uid);
    if (!name)
        return error_set(err, ERROR_NOT_FOUND,
            "user %u has no name in this image's /etc/passwd: run the pod as the image's own database user (usually 999)",
            geteuid());
    *ret = name;
    return 0;
}

/* Writes the composed my.cnf under a name of its own, has the server judge it, and puts it into place. Data that is
 * served under a smaller limit than its caches goes on being served: what it has filled so far may be little. A node
 * hosts others. */
static int write_mycnf(const struct agent_paths *paths, const struct server_binary *binary,
    const struct run_mycnf_input *input, struct strbuf *adjusted, enum agent_init_fault *ret_fault, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;
    _cleanup_(freep) char *candidate = xasprintf("%s.new", paths->run_mycnf);
    const struct mycnf_memory on_node = {.machine = memory_machine_bytes()};

    strbuf_init(&text, MYCNF_MAX + 16 * KM_KIB);
    run_mycnf_compose(input, &text);
    if (text.overflowed) {
        *ret_fault = AGENT_INIT_FAULT_MYCNF;
        return error_set(err, ERROR_TOO_LARGE, "my.cnf is larger than %ld bytes", MYCNF_MAX);
    }
    if (fs_write_file_atomic(candidate, text.buf, text.len, 0640, err) < 0)
        return -1;
    if (mycnf_memory_check(text.buf, &on_node, err) < 0 || mycnf_check(binary, candidate, adjusted, err) < 0) {
        if (err && err->kind == ERROR_INVALID)
            *ret_fault = AGENT_INIT_FAULT_MYCNF;
        return -1;
    }
    if (rename(candidate, paths->run_mycnf) < 0)
        return error_set_errno(err, errno, "renaming %s", candidate);
    return 0;
}

static int write_init_file(
    const struct agent_paths *paths, const struct dialect *dialect, const char *user, struct error *err)
{
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 16 * KM_KIB);
    run_mycnf_init_sql(dialect, user, &text);
    return fs_write_file_atomic(paths->init_file, text.buf, text.len, 0640, err);
}

/* Before there is a data folder: what cannot be a cluster of several must not begin as one. */
static int check_replicas(
    const struct server_binary *binary, const struct server_features *features, int replicas, struct error *err)
{
    const char *lacking = server_features_lacking(features);

    if (replicas < 2 || !*lacking)
        return 0;
    return error_set(err, ERROR_INVALID,
        "replicas: %d is not possible with this server: %s %s has no %s, so that rows could be lost; one member can be had",
        replicas, agent_flavour_name(binary->version.flavour), binary->version.text, lacking);
}

/* Everything that can be judged without a data folder: the image, its user, my.cnf. */
static int prepare_config(const struct init_options *options, const struct server_binary *binary, char **ret_user,
    struct strbuf *adjusted, enum agent_init_fault *ret_fault, struct error *err)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config instance = {0};
    _cleanup_(strbuf_release) struct strbuf mycnf, help;
    const struct agent_paths *paths = options->paths;
    const struct dialect *dialect = dialect_for(&binary->version);
    struct server_features features = {0};

    strbuf_init(&mycnf, MYCNF_MAX);
    strbuf_init(&help, SERVER_HELP_MAX);
    if (init_user_name(ret_user, err) < 0 || server_features_ask(binary, &features, &help, err) < 0 ||
        instance_config_load(paths->config_instance, &instance, err) < 0 ||
        check_replicas(binary, &features, instance.replicas, err) < 0 ||
        fs_read_file(paths->config_mycnf, &mycnf, err) < 0)
        return -1;
    struct run_mycnf_input input = {
        .mycnf = mycnf.buf,
        .instance = &instance,
        .paths = paths,
        .dialect = dialect,
        .features = features,
        .help = help.buf,
        .pod_name = options->pod_name,
        .port = options->mysql_port,
        .memory_max_bytes = memory_limit_bytes(), /* init has the server's resources */
    };
    if (write_init_file(paths, dialect, *ret_user, err) < 0)
        return -1;
    return write_mycnf(paths, binary, &input, adjusted, ret_fault, err);
}

static int find_binary(struct server_binary *ret, struct error *err)
{
    if (server_binary_find(ret, err) < 0)
        return -1;
    log_info("found the server", LOG_STR("path", ret->path), LOG_STR("version", ret->version.text),
        LOG_STR("flavour", agent_flavour_name(ret->version.flavour)));
    return 0;
}

void init_prepared_release(struct init_prepared *prepared)
{
    server_binary_release(&prepared->binary);
    free(prepared->user);
    *prepared = (struct init_prepared){0};
}

/* Of a folder that holds no database of ours the image is innocent. */
static int check_data(const struct init_prepared *prepared, enum agent_init_fault *ret_fault, struct error *err)
{
    if (datadir_check(&prepared->facts, &prepared->binary.version, err) == 0)
        return 0;
    if (prepared->facts.kind == DATADIR_DATABASE)
        *ret_fault = AGENT_INIT_FAULT_IMAGE;
    return -1;
}

int init_prepare(
    const struct init_options *options, struct init_prepared *ret, enum agent_init_fault *ret_fault, struct error *err)
{
    _cleanup_(init_prepared_release) struct init_prepared prepared = {0};
    enum agent_init_fault fault = AGENT_INIT_FAULT_OTHER;

    /* The configuration first: a bad one must not cost an initialisation or a copy. */
    if (find_binary(&prepared.binary, err) < 0) {
        *ret_fault = err && err->kind == ERROR_NOT_FOUND ? AGENT_INIT_FAULT_IMAGE : AGENT_INIT_FAULT_OTHER;
        return -1;
    }
    if (prepare_config(options, &prepared.binary, &prepared.user, NULL, &fault, err) < 0 ||
        datadir_recover(options->paths, err) < 0 || datadir_inspect(options->paths, &prepared.facts, err) < 0 ||
        check_data(&prepared, &fault, err) < 0) {
        *ret_fault = fault;
        return -1;
    }
    prepared.path = seed_path_find(&prepared.binary);
    *ret = prepared;
    prepared = (struct init_prepared){0};
    return 0;
}

/* Only where the operator says of which server the primary's data is: judged as `init` would, but before any member is
 * touched. */
static int check_data_version(
    const struct agent_instance_config *instance, const struct server_binary *binary, struct error *err)
{
    struct datadir_facts facts;

    if (!instance->data_version)
        return 0;
    if (datadir_facts_of(instance->data_version, &facts, err) < 0)
        return -1;
    return datadir_check(&facts, &binary->version, err);
}

/* Nothing runs with it yet. */
static int check_memory(const struct agent_paths *paths, struct error *err)
{
    const struct mycnf_memory memory = {memory_limit_bytes(), memory_machine_bytes()};
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, MYCNF_MAX + 16 * KM_KIB);
    return fs_read_file(paths->run_mycnf, &text, err) < 0 ? -1 : mycnf_memory_check(text.buf, &memory, err);
}

/* Only where the operator says what the data of the members was made with. */
static int check_made_with(const struct init_options *options, const struct agent_instance_config *instance,
    const struct server_binary *binary, struct error *err)
{
    return instance->made_with ? made_with_check(binary, options->paths->run_mycnf, instance->made_with, err) : 0;
}

void init_checked_release(struct init_checked *checked)
{
    server_binary_release(&checked->binary);
    free(checked->user);
    *checked = (struct init_checked){0};
}

int init_check(const struct init_options *options, struct init_checked *ret, struct strbuf *adjusted, struct error *err)
{
    _cleanup_(agent_instance_config_release) struct agent_instance_config instance = {0};
    _cleanup_(init_checked_release) struct init_checked checked = {0};
    enum agent_init_fault fault; /* `check` tells it by its first words */

    if (instance_config_load(options->paths->config_instance, &instance, err) < 0)
        return -1;
    if (find_binary(&checked.binary, err) < 0 || check_data_version(&instance, &checked.binary, err) < 0)
        return error_prefix(err, AGENT_CHECK_IMAGE);
    if (prepare_config(options, &checked.binary, &checked.user, adjusted, &fault, err) < 0 ||
        check_memory(options->paths, err) < 0 || check_made_with(options, &instance, &checked.binary, err) < 0)
        return -1;
    checked.start = instance.start;
    *ret = checked;
    checked = (struct init_checked){0};
    return 0;
}
