/* The order of a roll: a table, and a property over many random worlds. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/backoff.h"
#include "operator/cluster/cluster_roll.h"

/* A world in letters, one for each ordinal: R ready, N not ready (new template: upper case, old: lower case), d leaving, - no pod. */
struct model {
    struct cluster_snapshot snapshot;
    struct stateful_set_object set;
    struct pod_object pods[CLUSTER_REPLICAS_MAX + 1];
    char letters[CLUSTER_REPLICAS_MAX + 2];
};

static void model_init(struct model *model, const char *letters, int replicas)
{
    *model = (struct model){.set = {.update_revision = "new", .observed_generation = 1}};
    model->set.object.generation = 1;
    model->snapshot.stateful_set = &model->set;
    model->snapshot.cluster.replicas = replicas;
    model->snapshot.member_count = (int)strlen(letters);
    for (int i = 0; letters[i]; i++) {
        struct cluster_member *member = &model->snapshot.members[i];
        member->ordinal = i;
        snprintf(member->name, sizeof(member->name), "m-%d", i);
        model->letters[i] = letters[i];
        if (letters[i] == '-')
            continue;
        member->pod = &model->pods[i];
        model->pods[i].revision = strchr("RN", letters[i]) ? "new" : "old";
        model->pods[i].ready = letters[i] == 'r' || letters[i] == 'R';
        model->pods[i].object.deleting = letters[i] == 'd';
    }
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

/* One thing that Kubernetes does: a leaving pod goes, a missing one is made, a new one becomes ready. False: nothing is left to do. */
static bool kubernetes_moves(char *letters, uint64_t *random)
{
    size_t len = strlen(letters);
    size_t first = random_next(random) % len;
    for (size_t i = 0; i < len; i++) {
        char *letter = &letters[(first + i) % len];
        const char *from = "d-N", *to = "-NR";
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

/* From any state: never a second pod on its way out by our doing, never a serving one while another is not, and an end. */
static void a_roll_is_safe_and_ends(void **state)
{
    UNUSED(state);
    uint64_t random = 4711;
    for (int round = 0; round < 20000; round++) {
        char letters[CLUSTER_REPLICAS_MAX + 1] = "";
        size_t len = 1 + random_next(&random) % CLUSTER_REPLICAS_MAX;
        for (size_t i = 0; i < len; i++)
            letters[i] = "RNrnd-"[random_next(&random) % 6];
        int turns = 0;
        for (;; turns++) {
            struct model model;
            struct roll roll;
            model_init(&model, letters, (int)len);
            cluster_roll(&model.snapshot, &roll);
            if (roll.step == ROLL_DELETE) {
                assert_int_equal(count_leaving(letters), 0);
                char *letter = &letters[roll.member->ordinal];
                if (*letter == 'r')
                    assert_null(strpbrk(letters, "Nn-"));
                else
                    assert_int_equal(*letter, 'n');
                *letter = 'd';
            }
            bool moved = random_next(&random) % 2 ? kubernetes_moves(letters, &random) : true;
            if (roll.step == ROLL_DONE && !strpbrk(letters, "rn"))
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
        cmocka_unit_test(former_members_are_not_rolled),
        cmocka_unit_test(an_older_view_of_the_set_waits),
        cmocka_unit_test(a_roll_is_safe_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
