/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tests/seed_aside_stories.h"

#include <dirent.h>
#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/fs.h"

static void write_rows(const struct agent_rig *rig, const char *text, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        _cleanup_(freep) char *sql = xasprintf("INSERT INTO d.alone (v) VALUES ('%s-%u')", text, i);
        assert_true(agent_rig_sql(rig, "root", SEED_RIG_ROOT_PASSWORD, sql, NULL));
    }
}

/* The member becomes primary, takes two rows that nobody gets, and dies. The donor goes on: its history is the longer
 * one. */
static void make_alone(struct seed_rig *world)
{
    assert_true(agent_rig_sql(world->donor, "root", SEED_RIG_ROOT_PASSWORD,
        "CREATE TABLE d.alone (id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100))", NULL));
    write_rows(world->donor, "first", 3);
    struct agent_process init = seed_rig_clone(world, world->donor, false);
    assert_int_equal(agent_rig_wait(&init), 0);
    seed_rig_start_replica(world, world->member);
    write_rows(world->donor, "followed", 3);
    assert_true(seed_rig_becomes(world->member, "SELECT COUNT(*) FROM d.alone", "6"));
    seed_rig_order(world->member, "{\"epoch\":2,\"role\":\"primary\"}");
    assert_true(agent_rig_await_status(world->member, "\"writable\":true", 20000));
    write_rows(world->member, "only-here", 2);
    agent_rig_kill(&world->member->server);
    agent_rig_kill(&world->member->agent);
    write_rows(world->donor, "behind", 10);
    agent_rig_put(world->member, "vol/.kube-mysql/mark", "left\n");
}

static struct agent_process copy_anew(struct seed_rig *world, const char *position_sql)
{
    struct agent_process init = agent_rig_start(world->member, "init");
    _cleanup_(freep) char *position = seed_rig_text(world->donor, position_sql);
    _cleanup_(strbuf_release) struct strbuf order;

    position[strcspn(position, "\n")] = '\0';
    printf("the others have %s\n", position);
    strbuf_init(&order, 8 * KM_KIB);
    strbuf_addf(&order,
        "{\"epoch\":3,\"role\":\"replica\",\"seed\":\"clone\",\"replace\":true,\"donorHost\":\"localhost\","
        "\"donorPort\":%u,\"donorAgentPort\":%u,\"beyond\":\"%s\"}",
        world->donor->mysql_port, world->donor->tls_port, position);
    seed_rig_order(world->member, order.buf);
    return init;
}

/* The only folder; "" none. */
static void find_set(const struct agent_rig *rig, char *ret, size_t size)
{
    _cleanup_(freep) char *top = xstrdup(agent_rig_path(rig, "vol/.kube-mysql/set-aside"));
    DIR *dir = opendir(top);
    unsigned count = 0;

    *ret = '\0';
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(ret, size, "vol/.kube-mysql/set-aside/%s", entry->d_name);
        count++;
    }
    if (dir)
        closedir(dir);
    assert_true(count <= 1);
}

static bool file_has(const struct agent_rig *rig, const char *folder, const char *name, const char *bytes)
{
    _cleanup_(freep) char *path = xasprintf("%s/%s", folder, name);
    _cleanup_(strbuf_release) struct strbuf text;

    strbuf_init(&text, 16 * KM_MIB);
    return fs_read_file(agent_rig_path(rig, path), &text, NULL) == 0 && memmem(text.buf, text.len, bytes, strlen(bytes));
}

static void expect_set_aside(struct seed_rig *world)
{
    char folder[512];

    find_set(world->member, folder, sizeof(folder));
    assert_string_not_equal(folder, "");
    assert_true(file_has(world->member, folder, "transactions.txt", "# not at the source: "));
    assert_true(file_has(world->member, folder, "binlog.000001", "only-here-0"));
    assert_true(file_has(world->member, folder, "binlog.000001", "only-here-1"));
    assert_false(file_has(world->member, folder, "binlog.000001", "followed-")); /* what the others have, too */
    agent_rig_start(world->member, "run");
    assert_true(agent_rig_await_status(world->member, strrchr(folder, '/') + 1, 10000));
}

void seed_aside_story_left(struct seed_rig *world, const char *position_sql)
{
    make_alone(world);
    struct agent_process init = copy_anew(world, position_sql);
    assert_int_equal(agent_rig_wait(&init), 0);
    assert_false(agent_rig_has(world->member, "vol/.kube-mysql/mark"));
    expect_set_aside(world);
}

void seed_aside_story_no_room(struct seed_rig *world, const char *position_sql)
{
    make_alone(world);
    agent_rig_put(world->member, "vol/.kube-mysql/set-aside", "in the way");
    struct agent_process init = copy_anew(world, position_sql);
    assert_true(agent_rig_await_status(world->member, "\"SetAsideFailed\"", 20000));
    assert_true(agent_rig_has(world->member, "vol/data/d/alone.ibd"));
    assert_true(agent_rig_has(world->member, "vol/.kube-mysql/mark"));
    agent_rig_put(world->member, "vol/.kube-mysql/set-aside", NULL);
    assert_int_equal(agent_rig_wait(&init), 0); /* it tries again by itself */
    expect_set_aside(world);
}
