/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backups whose stored data is to be removed with them, while what the store is reached with is gone: in a namespace
 * that is being deleted they give up by themselves, elsewhere they wait for a person.
 */
#include "common/base.h"

#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/log.h"
#include "operator/tests/backup_world.h"

#define CREDENTIALS "spec.destination.s3.credentialsSecret: there is no Secret keys"

static bool is_held(struct operator_world *world)
{
    return !backup_world_released(world);
}

/* What was read of it is not fresh any more. */
static bool keys_go(struct operator_world *world)
{
    usleep(60 * 1000);
    return kube_api_double_remove(world->api, PATH_KEYS);
}

static bool keys_come_back(struct operator_world *world)
{
    world_put_json(world, PATH_KEYS,
        "{'apiVersion': 'v1', 'kind': 'Secret', 'metadata': {'name': 'keys', 'namespace': 'ns1'},"
        "'data': {'accessKey': 'YWNjZXNz', 'secretKey': '" SECRET_KEY_BASE64 "'}}");
    return true;
}

static bool namespace_ends(struct operator_world *world)
{
    kube_api_double_end_namespace(world->api);
    world->kubernetes.is_ending = true;
    return true;
}

static bool is_stalled(struct operator_world *world)
{
    return str_eq(world_condition_of(world, PATH_BACKUP, "Stalled"), "True/StoreUnreachable") &&
        strstr(backup_world_status_of("message"), CREDENTIALS) && !backup_world_gone(world);
}

static void it_gives_up_without_the_secret(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_completed, is_held, namespace_ends, keys_go,
        backup_world_delete_it, backup_world_gone, NULL};
    char said[16384] = "";
    FILE *log = tmpfile();
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    assert_non_null(log);
    log_setup(LOG_WARN, LOG_FORMAT_TEXT, fileno(log));
    operator_world_run(it->world, steps);
    log_setup(LOG_ERROR, LOG_FORMAT_TEXT, STDERR_FILENO);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    rewind(log);
    said[fread(said, 1, sizeof(said) - 1, log)] = '\0';
    fclose(log);
    const char *line = strstr(said, "a stored backup is left over");
    assert_non_null(line);
    assert_non_null(strstr(line, "s3://safe/" FOLDER_OF_ALL));
    assert_null(strstr(line + 1, "a stored backup is left over"));
    backup_world_free(it);
}

/* What is to be removed is removed as long as it can be. */
static void with_the_secret_the_data_go(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_completed, is_held, namespace_ends,
        backup_world_delete_it, backup_world_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

static void a_namespace_that_stays_waits_for_a_person(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_completed, is_held, keys_go,
        backup_world_delete_it, is_stalled, keys_come_back, backup_world_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 0);
    backup_world_free(it);
}

/* Something brings the backup up before its time. */
static bool the_namespace_ends_later(struct operator_world *world)
{
    usleep(60 * 1000);
    world_edit_json(world, PATH_BACKUP, "{'metadata': {'annotations': {'of': 'somebody'}}}");
    return namespace_ends(world);
}

/* The backup was stuck before the namespace was deleted. */
static void it_asks_again(void **state)
{
    UNUSED(state);
    static const world_step_fn steps[] = {BACKUP_WORLD_BEGIN, backup_world_completed, is_held, keys_go,
        backup_world_delete_it, is_stalled, the_namespace_ends_later, backup_world_gone, NULL};
    struct backup_world *it = backup_world_new(DONOR_COMPLETES, "'deletionPolicy': 'Delete'");
    operator_world_run(it->world, steps);
    assert_int_equal(bucket_double_count(it->s3, FOLDER_OF_ALL), 2);
    backup_world_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_gives_up_without_the_secret),
        cmocka_unit_test(with_the_secret_the_data_go),
        cmocka_unit_test(a_namespace_that_stays_waits_for_a_person),
        cmocka_unit_test(it_asks_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
