/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/mycnf_stories.h"

#include <setjmp.h>
#include <cmocka.h>

#include "agent/tests/seed_rig.h"
#include "common/alloc.h"
#include "common/fs.h"
#include "common/strbuf.h"

#define DATA "operator/api/tests/data/mycnf/"
#define THEIRS "# spec.mycnf\n" /* what follows is of the person */

/* The keys that MariaDB 10.11 and MySQL 9.7 refuse, in the order of the file. `fresh`: the data is made with it;
 * else it is that of the others. */
static const struct sample {
    const char *name, *mariadb, *mysql;
    bool fresh;
} samples[] = {
    {"cacti", "", "innodb_file_format innodb_large_prefix", false},
    {"confluence", "", "innodb_log_file_size", false},
    {"jira", "",
        "character_set_server collation_server innodb_log_file_size query_cache_limit query_cache_size query_cache_type",
        false},
    {"kaspersky", "", "join_buffer_space_limit join_cache_level", false},
    {"librenms", "", "", false},
    {"magento", "", "myisam_recover query_cache_size query_cache_type", false},
    {"mattermost", "", "expire_logs_days", false},
    {"moodle", "", "innodb_file_format innodb_large_prefix skip_character_set_client_handshake", false},
    {"nextcloud", "",
        "innodb_file_format innodb_large_prefix query_cache_limit query_cache_min_res_unit query_cache_size query_cache_type",
        false},
    {"opendental", "", "optimizer_switch", true},
    {"openstack", "", "join_buffer_space_limit key_buffer myisam_recover query_cache_limit query_cache_size", false},
    {"php-site", "", "default_authentication_plugin expire_logs_days", true},
    {"sogo", "", "character_set_client_handshake innodb_file_format innodb_large_prefix", false},
    {"wordpress", "",
        "expire_logs_days innodb_log_file_size innodb_log_files_in_group query_cache_size query_cache_type sql_mode",
        true},
    {"zabbix", "", "", false},
};

static const char *mysql_root;
static struct agent_rig *shared;

static void read_text(const char *path, struct strbuf *ret)
{
    if (fs_read_file(path, ret, NULL) < 0)
        fail_msg("cannot read %s", path);
}

/* The error message names this key, not a longer one that contains it. */
static bool names(const char *reason, const char *key, size_t len)
{
    for (const char *at = reason; (at = memmem(at, strlen(at), key, len)); at++) {
        bool begins = at == reason || !strchr("abcdefghijklmnopqrstuvwxyz_", at[-1]);
        if (begins && !strchr("abcdefghijklmnopqrstuvwxyz_", at[len]))
            return true;
    }
    return false;
}

/* The person's lines without those whose key the reason names; those go to `taken`. */
static char *without_named(const char *mycnf, const char *reason, struct strbuf *taken)
{
    struct strbuf out;
    const char *line = strstr(mycnf, THEIRS);

    assert_non_null(line);
    line += strlen(THEIRS);
    strbuf_init(&out, KM_MIB);
    strbuf_add(&out, mycnf, (size_t)(line - mycnf));
    for (const char *end; *line; line = end) {
        size_t key_len = strcspn(line, " =\n");
        end = line + strcspn(line, "\n");
        end += *end == '\n';
        if (names(reason, line, key_len))
            strbuf_addf(taken, "%s%.*s", taken->len ? " " : "", (int)key_len, line);
        else
            strbuf_add(&out, line, (size_t)(end - line));
    }
    return strbuf_detach(&out, NULL);
}

/* As a person would: the check says all that is at fault, that is taken out, and it takes the rest. */
static void settle(struct agent_rig *rig, const char *sample, const char *mycnf, struct strbuf *taken)
{
    _cleanup_(strbuf_release) struct strbuf reason;

    strbuf_init(&reason, KM_MIB);
    agent_rig_put(rig, "config/my.cnf", mycnf);
    struct agent_process check = agent_rig_start(rig, "check");
    if (agent_rig_wait(&check) == 0)
        return;
    read_text(agent_rig_path(rig, "termination"), &reason);
    _cleanup_(freep) char *rest = without_named(mycnf, reason.buf, taken);
    agent_rig_put(rig, "config/my.cnf", rest);
    check = agent_rig_start(rig, "check");
    if (agent_rig_wait(&check) != 0)
        fail_msg("%s: not all was said: %s", sample, reason.buf);
}

static void start(struct agent_rig *rig)
{
    seed_rig_start_primary(rig);
    assert_true(agent_rig_sql(rig, "app", "pw-user'\\",
        "CREATE TABLE app_db.t (id INT PRIMARY KEY); INSERT INTO app_db.t VALUES (7); DROP TABLE app_db.t", NULL));
    agent_rig_kill(&rig->agent);
    agent_rig_kill(&rig->server);
    /* Of the operator's own options each server is given those that it knows. */
    assert_true(agent_rig_file_says(rig, "server.log", "ready for connections"));
    assert_false(agent_rig_file_says(rig, "server.log", "unknown variable"));
    assert_false(agent_rig_file_says(rig, "server.log", "unknown option"));
}

static void test_sample(void **state)
{
    const struct sample *sample = *state;
    struct agent_rig *rig = sample->fresh ? agent_rig_new_in(mysql_root) : shared;
    _cleanup_(freep) char *path = xasprintf(DATA "%s.mysqld", sample->name);
    _cleanup_(strbuf_release) struct strbuf text, taken;

    strbuf_init(&text, KM_MIB);
    strbuf_init(&taken, KM_MIB);
    read_text(path, &text);
    settle(rig, sample->name, text.buf, &taken);
    assert_string_equal(taken.buf, mysql_root ? sample->mysql : sample->mariadb);
    start(rig);
    if (sample->fresh)
        agent_rig_free(rig);
}

static int set_up(void **state)
{
    UNUSED(state);
    shared = agent_rig_new_in(mysql_root);
    return 0;
}

static int tear_down(void **state)
{
    UNUSED(state);
    agent_rig_free(shared);
    return 0;
}

int mycnf_stories_run(const char *root)
{
    struct CMUnitTest tests[ARRAY_LEN(samples)];

    mysql_root = root;
    for (size_t i = 0; i < ARRAY_LEN(samples); i++)
        tests[i] = (struct CMUnitTest){
            .name = samples[i].name, .test_func = test_sample, .initial_state = (void *)(uintptr_t)&samples[i]};
    cmocka_set_test_filter(getenv("TEST_CASE"));
    return cmocka_run_group_tests_name(root ? "my.cnf MySQL" : "my.cnf MariaDB", tests, set_up, tear_down);
}
