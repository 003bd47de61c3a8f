/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/runtime/phases.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "common/strbuf.h"

enum { LOOK, ASK, DONE };

struct work {
    struct phases phases;
    struct strbuf *story;
    int looks;
    bool answered_at_once;
};

static int look(void *arg)
{
    struct work *work = arg;
    strbuf_addf(work->story, "look ");
    return ++work->looks < 2 ? LOOK : ASK;
}

static int ask(void *arg)
{
    struct work *work = arg;
    strbuf_addf(work->story, "ask ");
    if (work->answered_at_once)
        phases_go_on(&work->phases, DONE);
    strbuf_addf(work->story, "asked ");
    return PHASES_WAIT;
}

/* The work is gone after it: the sanitizers see whoever touches it. */
static int done(void *arg)
{
    struct work *work = arg;
    strbuf_addf(work->story, "done");
    free(work);
    return PHASES_END;
}

static const phase_fn table[] = {[LOOK] = look, [ASK] = ask, [DONE] = done};

static struct work *work_new(struct strbuf *story, bool answered_at_once)
{
    struct work *work = xnew(struct work);
    *work = (struct work){.story = story, .answered_at_once = answered_at_once};
    return work;
}

static void a_phase_waits_for_its_callback(void **state)
{
    UNUSED(state);
    struct strbuf story;
    strbuf_init(&story, 1000);
    struct work *work = work_new(&story, false);
    phases_start(&work->phases, table, work, LOOK);
    assert_string_equal(story.buf, "look look ask asked ");
    phases_go_on(&work->phases, DONE);
    assert_string_equal(story.buf, "look look ask asked done");
    strbuf_release(&story);
}

static void a_callback_that_comes_at_once_goes_on_when_its_phase_has_returned(void **state)
{
    UNUSED(state);
    struct strbuf story;
    strbuf_init(&story, 1000);
    struct work *work = work_new(&story, true);
    phases_start(&work->phases, table, work, LOOK);
    assert_string_equal(story.buf, "look look ask asked done");
    strbuf_release(&story);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_phase_waits_for_its_callback),
        cmocka_unit_test(a_callback_that_comes_at_once_goes_on_when_its_phase_has_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
