/* SPDX-License-Identifier: Apache-2.0 */
/* The task of a backup reaches the agent, whatever the agent answers; and ends. */
#include "common/base.h"

#include "operator/instance/backup_sender.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/clock.h"
#include "common/http_server.h"
#include "common/tests/clock_util.h"

#define TURNS_MAX_MS 10000

/* A sender whose agent's port answers nobody. What agents answer is told in operator/tests/backups_test.c. */
struct rig {
    struct loop *loop;
    struct http_client *http;
    struct agent_target target;
    struct backup_sender *sender;
    bool may_tell;
    int asked, news;
};

static bool may_tell(void *arg)
{
    struct rig *rig = arg;
    rig->asked++;
    return rig->may_tell;
}

static void on_news(void *arg)
{
    ((struct rig *)arg)->news++;
}

static void rig_init(struct rig *rig)
{
    clock_stand_still();
    *rig = (struct rig){.loop = loop_new(), .may_tell = true};
    rig->http = http_client_new(rig->loop);
    const struct agent_target target = {
        .address = "127.0.0.1", .server_name = "localhost", .port = 1, .may_tell = may_tell, .may_tell_arg = rig};
    agent_target_copy(&target, &rig->target);
    rig->sender = backup_sender_new(rig->loop, rig->http, &rig->target, on_news, rig);
}

static void rig_release(struct rig *rig)
{
    backup_sender_free(rig->sender);
    agent_target_release(&rig->target);
    http_client_free(rig->http);
    loop_free(rig->loop);
}

static struct backup_task task_of(const char *id, char *secret)
{
    struct backup_task task = {.folder = (char *)"f", .store = {.bucket = (char *)"b", .secret_key = secret}};
    snprintf(task.id, sizeof(task.id), "%s", id);
    return task;
}

static void until_news(struct rig *rig, int news)
{
    int64_t until_ms = clock_monotonic_ms() + TURNS_MAX_MS;
    while (rig->news < news && clock_monotonic_ms() < until_ms)
        loop_run_once(rig->loop, 10);
    assert_int_equal(rig->news, news);
}

static void a_failure_is_told_once_and_forgotten_with_the_wish(void **state)
{
    UNUSED(state);
    struct rig rig;
    rig_init(&rig);
    struct backup_task task = task_of("id-1", (char *)"hush-hush");
    backup_sender_heard(rig.sender, "boot-1", "");
    backup_sender_want(rig.sender, "ns/first", &task);
    until_news(&rig, 1);
    assert_true(str_starts_with(backup_sender_error(rig.sender, "id-1"), "the task could not be given"));
    assert_null(strstr(backup_sender_error(rig.sender, "id-1"), "hush"));
    assert_string_equal(backup_sender_error(rig.sender, "id-2"), "");
    assert_false(backup_sender_refused(rig.sender, "id-1"));
    backup_sender_want(rig.sender, "ns/other", NULL); /* not the owner's word */
    assert_string_not_equal(backup_sender_error(rig.sender, "id-1"), "");
    backup_sender_want(rig.sender, "ns/first", NULL);
    assert_string_equal(backup_sender_error(rig.sender, "id-1"), "");
    rig_release(&rig);
}

/* Neither before the agent is heard, nor after it was lost, nor by somebody who does not lead. */
static void nothing_is_sent_into_the_dark(void **state)
{
    UNUSED(state);
    struct rig rig;
    rig_init(&rig);
    struct backup_task task = task_of("id-1", (char *)"s");
    backup_sender_want(rig.sender, "ns/first", &task);
    assert_int_equal(rig.asked, 0);
    rig.may_tell = false;
    backup_sender_heard(rig.sender, "boot-1", "");
    assert_int_equal(rig.asked, 1);
    for (int i = 0; i < 5; i++)
        loop_run_once(rig.loop, 10);
    assert_int_equal(rig.news, 0); /* a request would have failed by now */
    rig.may_tell = true;
    backup_sender_lost(rig.sender);
    backup_sender_heard(rig.sender, "boot-1", ""); /* the wish was forgotten with the stream */
    for (int i = 0; i < 5; i++)
        loop_run_once(rig.loop, 10);
    assert_int_equal(rig.news, 0);
    rig_release(&rig);
}

/* An id that is shown needs no repetition once this process has given the task; a new process of ours gives it once. */
static void a_task_that_is_shown_is_given_once(void **state)
{
    UNUSED(state);
    struct rig rig;
    rig_init(&rig);
    struct backup_task task = task_of("id-1", (char *)"s");
    backup_sender_heard(rig.sender, "boot-1", "id-1");
    backup_sender_want(rig.sender, "ns/first", &task);
    until_news(&rig, 1);
    backup_sender_end(rig.sender, "id-1");
    assert_string_equal(backup_sender_error(rig.sender, "id-1"), "");
    rig_release(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_told_once_and_forgotten_with_the_wish),
        cmocka_unit_test(nothing_is_sent_into_the_dark),
        cmocka_unit_test(a_task_that_is_shown_is_given_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
