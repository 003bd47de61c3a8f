/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/backup/store_answer.h"

#include "operator/api/pod_answer.h"

static bool makes_something(const struct plan *plan)
{
    for (int i = 0; i < plan->count; i++) {
        if (plan->actions[i].verb != PLAN_DELETE)
            return true;
    }
    return false;
}

/* Nobody chooses what the pod asks for; of a claim its size is chosen. What to do is told also where the API server
 * says more than there is room for. */
static void say_refused(struct store_answer *answer, const char *ns, const char *words)
{
    char remedy[256];
    const char *who = pod_refusal_is_of_storage(words) ? "persistentVolumeClaim.size" : NULL;
    const char *what = pod_refusal_remedy(words, ns, who, remedy, sizeof(remedy));
    size_t room = sizeof(answer->text) - strlen(what) - strlen("...; ") - 1;
    bool is_cut = strlen(words) > room;
    snprintf(answer->text, sizeof(answer->text), "%.*s%s; %s", (int)room, words, is_cut ? "..." : "", what);
}

bool store_answer_take(struct store_answer *answer, const char *ns, const struct plan *plan, const struct error *err)
{
    if (!makes_something(plan))
        return false;
    const struct store_answer before = *answer;
    enum pod_answer said = pod_answer_of(err);
    *answer = (struct store_answer){.is_known = true};
    answer->stays = said == POD_ANSWER_REFUSED;
    answer->is_refused = answer->stays || said == POD_ANSWER_OVER_QUOTA;
    if (answer->is_refused)
        say_refused(answer, ns, err->message);
    else if (err)
        snprintf(answer->text, sizeof(answer->text), "%.*s", (int)sizeof(answer->text) - 1, err->message);
    return before.is_refused != answer->is_refused || before.stays != answer->stays ||
        !str_eq(before.text, answer->text);
}
