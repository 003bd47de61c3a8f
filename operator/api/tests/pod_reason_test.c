/* SPDX-License-Identifier: Apache-2.0 */
/* What is at fault, by the words of kubelets, schedulers and registries. */
#include "common/base.h"

#include "operator/api/pod_reason.h"

#include <setjmp.h>
#include <cmocka.h>

static void reasons(void **state)
{
    enum { IMAGE = 1, START = 2, CONTAINER = 4, PLACEMENT = 8, MEMORY = 16, BEGINNING = 32, LOOP = 64 };
    static const struct {
        const char *reason;
        int of;
    } rows[] = {
        {NULL, 0},
        {"", 0},
        {"Error", 0},
        {"Evicted", 0},
        {"ImagePullBackOff", IMAGE},
        {"ErrImageNeverPull", IMAGE},
        {"CreateContainerConfigError", START | CONTAINER},
        {"PostStartHookError", CONTAINER},
        {"Unschedulable", PLACEMENT},
        {"OOMKilled", MEMORY},
        {"ContainerCreating", BEGINNING},
        {"PodInitializing", BEGINNING},
        {"CrashLoopBackOff", LOOP},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *reason = rows[i].reason;
        int of = pod_reason_is_image(reason) * IMAGE + pod_reason_is_start(reason) * START +
            pod_reason_is_container(reason) * CONTAINER + pod_reason_is_placement(reason) * PLACEMENT +
            pod_reason_is_memory(reason) * MEMORY + pod_reason_is_beginning(reason) * BEGINNING +
            pod_reason_is_loop(reason) * LOOP;
        if (of != rows[i].of)
            fail_msg("%s: %d", reason, of);
    }
}

static void words_of_images(void **state)
{
    static const struct {
        const char *reason, *words;
        enum pod_image_word word;
    } rows[] = {
        {"ImagePullBackOff", "", POD_IMAGE_UNTOLD},
        {"ImagePullBackOff", NULL, POD_IMAGE_UNTOLD},
        {"ImagePullBackOff", "Back-off pulling image \"mysql:8.4\"", POD_IMAGE_UNTOLD},
        {"ErrImagePull", "failed to resolve reference: dial tcp: i/o timeout", POD_IMAGE_DELAYED},
        {"ErrImagePull", "docker.io/library/mysql:99: not found", POD_IMAGE_REFUSED},
        {"ImagePullBackOff", "pull access denied", POD_IMAGE_REFUSED},
        {"ErrImagePull", "unexpected status: 401 Unauthorized", POD_IMAGE_REFUSED},
        {"InvalidImageName", "", POD_IMAGE_REFUSED},
        {"ErrImageNeverPull", "Container image is not present with pull policy of Never", POD_IMAGE_REFUSED},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (pod_image_word_of(rows[i].reason, rows[i].words) != rows[i].word)
            fail_msg("%s: %s", rows[i].reason, rows[i].words);
    }
}

static void claims_that_are_missing(void **state)
{
    UNUSED(state);
    static const char words[] = "0/1 nodes are available: persistentvolumeclaim \"vol\" not found. preemption: 0/1";
    assert_true(pod_reason_lacks_claim(words, "vol"));
    assert_false(pod_reason_lacks_claim(words, "vol2"));
    assert_false(pod_reason_lacks_claim(words, "vo"));
    assert_false(pod_reason_lacks_claim("0/1 nodes are available: 1 Insufficient memory", "vol"));
    assert_false(pod_reason_lacks_claim(NULL, "vol"));
    char name[8];
    assert_true(pod_reason_names_claim(words, name, sizeof(name)));
    assert_string_equal(name, "vol");
    assert_false(pod_reason_names_claim("pod has unbound immediate PersistentVolumeClaims", name, sizeof(name)));
    assert_false(pod_reason_names_claim("persistentvolumeclaim \"vol\" is being deleted", name, sizeof(name)));
    assert_false(pod_reason_names_claim("persistentvolumeclaim \"vol", name, sizeof(name)));
    assert_false(pod_reason_names_claim(NULL, name, sizeof(name)));
}

static void what_is_said_twice_is_read_once(void **state)
{
    UNUSED(state);
    static const char *const rows[][2] = {
        {"persistentvolumeclaim \"vol\" not found. not found", "persistentvolumeclaim \"vol\" not found"},
        {"persistentvolumeclaim \"vol\" not found", "persistentvolumeclaim \"vol\" not found"},
        {"image vol: not found. not found", "image vol: not found. not found"},
        {". not found", ". not found"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(pod_reason_words_len(rows[i][0]), strlen(rows[i][1]));
}

static void a_taint_is_named_as_in_the_table(void **state)
{
    UNUSED(state);
    static const struct {
        const char *words;
        bool is_tainted, lacks_room;
        const char *taint;
    } rows[] = {
        {NULL, false, false, ""},
        {"0/1 nodes are available: 1 Insufficient memory.", false, true, ""},
        {"0/1 nodes are available: 1 Too many pods.", false, true, ""},
        {"0/2 nodes are available: 2 node(s) had untolerated taint {dedicated: db}. preemption: …", true, false,
            "dedicated=db"},
        {"0/2 nodes are available: 1 node(s) had untolerated taint {a.b: }, 1 Insufficient cpu.", true, true, "a.b"},
        {"0/2 nodes are available: 2 node(s) had untolerated taint {a.b/c}.", true, false, "a.b/c"},
        {"0/2 nodes are available: 2 node(s) had untolerated taint(s). preemption: …", true, false, ""},
        {"0/2 nodes are available: 2 node(s) had untolerated taint {cut", true, false, "cut"},
        {"0/2 nodes are available: 2 node(s) had untolerated taint {cut:", true, false, "cut"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char taint[64];
        bool is_tainted = pod_reason_names_taint(rows[i].words, taint, sizeof(taint));
        if (is_tainted != rows[i].is_tainted || !str_eq(taint, rows[i].taint) ||
            pod_reason_lacks_room(rows[i].words) != rows[i].lacks_room)
            fail_msg("%s: \"%s\"", rows[i].words, taint);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_taint_is_named_as_in_the_table),
        cmocka_unit_test(claims_that_are_missing),
        cmocka_unit_test(what_is_said_twice_is_read_once),
        cmocka_unit_test(reasons),
        cmocka_unit_test(words_of_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
