/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a roll: a table, and a property over many random worlds. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/backoff.h"
#include "operator/cluster/rollout/cluster_decide.h"
#include "operator/cluster/rollout/cluster_roll.h"

/*
 * A world in letters, one for each ordinal: R ready, N not ready (new template: upper case, old: lower case), d
 * leaving, - no pod.
 * New template, but an older my.cnf: u serves and may yet take the new one up, f likewise but failed once, m serves and
 * needs a restart, x its server is down, s its server starts.
 */
struct model {
    struct agent_status agents[CLUSTER_REPLICAS_MAX + 1];
    struct cluster_snapshot snapshot;
    struct stateful_set_object set;
    struct pod_object pods[CLUSTER_REPLICAS_MAX + 1];
    char letters[CLUSTER_REPLICAS_MAX + 2];
};

/* A replica as it should be, but for the letter. */
static void model_agent(struct model *model, int i, char letter)
{
    struct cluster_member *member = &model->snapshot.members[i];
    bool down = letter == 'x', starts = letter == 's';
    struct agent_status *agent = &model->agents[i];
    agent->phase = down ? AGENT_PHASE_DOWN : starts ? AGENT_PHASE_STARTING : AGENT_PHASE_RUNNING;
    agent->epoch = 1;
    agent->role = AGENT_ROLE_REPLICA;
    agent->order_done = true;
    snprintf(agent->mycnf_hash, sizeof(agent->mycnf_hash), "old");
    agent->replication.receiver = agent->replication.applier = AGENT_THREAD_RUNNING;
    member->agent = agent;
    member->agent_connected = true;
    member->mycnf_text = letter == 'm' ? "my.cnf changes a, which needs a restart" : letter == 'f' ? "busy" : "";
    member->mycnf_verdict = letter == 'm' ? MYCNF_NEEDS_RESTART : letter == 'f' ? MYCNF_FAILED : MYCNF_UNKNOWN;
}

/* In a model that is empty but for what an earlier call has filled in. It is large: to empty all of it for each of many
 * worlds takes longer than to look at them. */
static void model_fill(struct model *model, const char *letters, int replicas)
{
    memset(model->snapshot.members, 0, sizeof(model->snapshot.members));
    memset(model->pods, 0, sizeof(model->pods));
    model->set = (struct stateful_set_object){.update_revision = "new", .observed_generation = 1};
    model->set.object.generation = 1;
    model->snapshot.stateful_set = &model->set;
    model->snapshot.scale = (struct cluster_scale){replicas, replicas};
    model->snapshot.member_count = (int)strlen(letters);
    model->snapshot.last.roles.epoch = 1;
    snprintf(model->snapshot.mycnf_hash, sizeof(model->snapshot.mycnf_hash), "new");
    for (int i = 0; letters[i]; i++) {
        struct cluster_member *member = &model->snapshot.members[i];
        member->ordinal = i;
        snprintf(member->name, sizeof(member->name), "m-%d", i);
        model->letters[i] = letters[i];
        if (letters[i] == '-')
            continue;
        member->pod = &model->pods[i];
        model->pods[i].revision = strchr("RNufmxs", letters[i]) ? "new" : "old";
        model->pods[i].ready = strchr("rRufm", letters[i]) != NULL;
        if (strchr("ufmxs", letters[i]))
            model_agent(model, i, letters[i]);
        model->pods[i].object.deleting = letters[i] == 'd';
    }
}

static void model_init(struct model *model, const char *letters, int replicas)
{
    *model = (struct model){.letters = ""};
    model_fill(model, letters, replicas);
}

static const struct {
    const char *letters;
    enum roll_step step;
    int ordinal;
} table[] = {
    {"R", ROLL_DONE, -1},
    {"r", ROLL_DELETE, 0},
    {"n", ROLL_DELETE, 0},
    {"d", ROLL_WAIT, -1},
    {"rr", ROLL_DELETE, 1},
    {"rR", ROLL_DELETE, 0},
    {"rN", ROLL_WAIT, -1},
    {"r-", ROLL_WAIT, -1},
    {"nr", ROLL_DELETE, 0},
    {"rrr", ROLL_DELETE, 2},
    {"rnr", ROLL_DELETE, 1},
    {"rrR", ROLL_DELETE, 1},
    {"rRR", ROLL_DELETE, 0},
    {"rdR", ROLL_WAIT, -1},
    {"Ndn", ROLL_WAIT, -1},
    {"-dn", ROLL_WAIT, -1},
    {"Nnn", ROLL_DELETE, 2},
    {"NNr", ROLL_WAIT, -1},
    {"RRN", ROLL_DONE, -1},
    {"---", ROLL_DONE, -1},
    {"u", ROLL_WAIT, -1},
    {"m", ROLL_DELETE, 0},
    {"x", ROLL_DELETE, 0},
    {"s", ROLL_WAIT, -1},
    {"RRu", ROLL_WAIT, -1},
    {"mmu", ROLL_WAIT, -1},
    {"mfm", ROLL_WAIT, -1},
    {"mmm", ROLL_DELETE, 2},
    {"mmR", ROLL_DELETE, 1},
    {"mRR", ROLL_DELETE, 0},
    {"mNm", ROLL_WAIT, -1},
    {"mdR", ROLL_WAIT, -1},
    {"xmu", ROLL_DELETE, 0},
    {"sRm", ROLL_WAIT, -1},
    {"rum", ROLL_WAIT, -1},
    {"rmm", ROLL_DELETE, 2},
    {"nuu", ROLL_DELETE, 0},
};

static void order_is_as_in_the_table(void **state)
{
    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct model model;
        struct roll roll;
        model_init(&model, table[i].letters, (int)strlen(table[i].letters));
        cluster_roll(&model.snapshot, &roll);
        int ordinal = roll.step == ROLL_DELETE ? roll.member->ordinal : -1;
        if (roll.step != table[i].step || ordinal != table[i].ordinal)
            fail_msg("%s: step %d of member %d", table[i].letters, roll.step, ordinal);
    }
}

static void the_text_says_what_is_awaited_and_why(void **state)
{
    UNUSED(state);
    static const struct {
        const char *letters, *text;
        bool taking_up;
    } texts[] = {
        {"r", "replace m-0: it has an older template", false},
        {"n", "replace m-0: it has an older template and is not ready", false},
        {"mm", "replace m-1: my.cnf changes a, which needs a restart", false},
        {"xR", "replace m-0: its server is down and has an older my.cnf", false},
        {"um", "wait until the server of m-0 has taken up the new my.cnf", false},
        {"uR", "wait until the server of m-0 has taken up the new my.cnf", true},
        {"Rf", "wait until the server of m-1 has taken up the new my.cnf: busy", true},
        {"Rs", "wait until the server of m-1 runs and can take up the new my.cnf", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct model model;
        struct roll roll;
        model_init(&model, texts[i].letters, (int)strlen(texts[i].letters));
        cluster_roll(&model.snapshot, &roll);
        assert_string_equal(roll.text, texts[i].text);
        assert_int_equal(roll.taking_up, texts[i].taking_up);
    }
}

/* h: like u, but it has the new one; e: likewise, and its server has ended; p: and was stopped on purpose. m-0 is the
 * primary. */
static void a_mycnf_is_taken_up_one_after_the_other(void **state)
{
    UNUSED(state);
    static const struct {
        const char *letters;
        int next; /* -1: nobody */
    } rows[] = {{"u", 0}, {"uuu", 1}, {"uhu", 2}, {"uhh", 0}, {"hhh", -1}, {"uxu", 2}, {"umu", 2}, {"ueu", -1},
        {"ueh", -1}, {"u-u", 2}, {"uff", 1}, {"uRu", 2}, {"upu", 2}, {"uph", 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct model model;
        char letters[8];
        snprintf(letters, sizeof(letters), "%s", rows[i].letters);
        for (char *at = letters; *at; at++)
            *at = *at == 'h' ? 'u' : strchr("ep", *at) ? 'x' : *at;
        model_init(&model, letters, (int)strlen(letters));
        snprintf(model.snapshot.last.roles.current_primary, sizeof(model.snapshot.last.roles.current_primary), "m-0");
        for (int k = 0; rows[i].letters[k]; k++) {
            if (strchr("hep", rows[i].letters[k]))
                snprintf(model.agents[k].mycnf_hash, sizeof(model.agents[k].mycnf_hash), "new");
            model.agents[k].keeps_stopped = rows[i].letters[k] == 'p';
        }
        const struct cluster_member *next = cluster_next_for_mycnf(&model.snapshot);
        int ordinal = next ? next->ordinal : -1;
        if (ordinal != rows[i].next)
            fail_msg("%s: next is member %d", rows[i].letters, ordinal);
    }
}

/* Unreachable is unknown, and so is an agent that does not tell its my.cnf. */
static void only_a_known_mycnf_counts(void **state)
{
    UNUSED(state);
    struct model model;
    struct roll roll;
    model_init(&model, "mx", 2);
    model.snapshot.members[0].agent_connected = false;
    model.agents[1].mycnf_hash[0] = '\0';
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_DONE);
    model_init(&model, "mu", 2);
    model.snapshot.mycnf_hash[0] = '\0'; /* nothing is known of what is wanted */
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_DONE);
}

static void former_members_are_not_rolled(void **state)
{
    UNUSED(state);
    struct model model;
    struct roll roll;
    model_init(&model, "Rrd", 1);
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_DONE);
}

static void an_older_view_of_the_set_waits(void **state)
{
    UNUSED(state);
    struct model model;
    struct roll roll;
    model_init(&model, "r", 1);
    model.set.object.generation = 2;
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_WAIT);
    model.set.object.generation = 1;
    model.set.update_revision = "";
    cluster_roll(&model.snapshot, &roll);
    assert_int_equal(roll.step, ROLL_WAIT);
}

/* One thing that the world does: a leaving pod goes, a missing one is made, a new one becomes ready, a server is up,
 * takes its my.cnf or cannot. False: nothing is left to do. */
static bool the_world_moves(char *letters, uint64_t *random)
{
    size_t len = strlen(letters);
    size_t first = random_next(random) % len;
    for (size_t i = 0; i < len; i++) {
        char *letter = &letters[(first + i) % len];
        const char *from = "d-Nsfu", *to = random_next(random) % 2 ? "-NRuuR" : "-NRufm";
        const char *found = strchr(from, *letter);
        if (!found)
            continue;
        *letter = to[found - from];
        return true;
    }
    return false;
}

static int count_leaving(const char *letters)
{
    int count = 0;
    for (; *letters; letters++)
        count += *letters == 'd';
    return count;
}

/* From any state: never a second pod on its way out by our doing, never a serving one while another is not, and an
 * end. */
static void a_roll_is_safe_and_ends(void **state)
{
    UNUSED(state);
    uint64_t random = 4711;
    static struct model model;
    for (int round = 0; round < 20000; round++) {
        char letters[CLUSTER_REPLICAS_MAX + 1] = "";
        size_t len = 1 + random_next(&random) % CLUSTER_REPLICAS_MAX;
        for (size_t i = 0; i < len; i++)
            letters[i] = "RNrnd-ufmxs"[random_next(&random) % 11];
        int turns = 0;
        for (;; turns++) {
            struct roll roll;
            model_fill(&model, letters, (int)len);
            cluster_roll(&model.snapshot, &roll);
            if (roll.step == ROLL_DELETE) {
                assert_int_equal(count_leaving(letters), 0);
                char *letter = &letters[roll.member->ordinal];
                if (*letter == 'r' || *letter == 'm')
                    assert_null(strpbrk(letters, "Nn-xsuf"));
                else
                    assert_true(*letter == 'n' || *letter == 'x');
                *letter = 'd';
            }
            bool moved = random_next(&random) % 2 ? the_world_moves(letters, &random) : true;
            if (roll.step == ROLL_DONE && !strpbrk(letters, "rnmxsuf"))
                break;
            assert_true(moved || roll.step == ROLL_DELETE);
            if (turns > 1000)
                fail_msg("no end at %s", letters);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_as_in_the_table),
        cmocka_unit_test(the_text_says_what_is_awaited_and_why),
        cmocka_unit_test(a_mycnf_is_taken_up_one_after_the_other),
        cmocka_unit_test(only_a_known_mycnf_counts),
        cmocka_unit_test(former_members_are_not_rolled),
        cmocka_unit_test(an_older_view_of_the_set_waits),
        cmocka_unit_test(a_roll_is_safe_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
