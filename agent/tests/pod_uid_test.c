/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/pod_uid.h"

#include <setjmp.h>
#include <cmocka.h>

#define A "4dd08ffd-7f3d-4b2a-9a5a-d0a1c0b0a2cf"
#define B "9c5c7f9e-1111-4222-8333-444455556666"
#define HOSTS(uid) "3345 3329 8:1 /var/lib/kubelet/pods/" uid "/etc-hosts /etc/hosts rw,relatime - ext4 /dev/sda1 rw\n"
#define RUN(uid)                               \
    "3344 3329 8:1 /var/lib/kubelet/pods/" uid \
    "/volumes/kubernetes.io~empty-dir/run /run/mysqld rw,relatime - ext4 /dev/sda1 rw\n"
#define OTHER \
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n3346 3329 8:1 /pods/" B "/x /data rw - ext4 /dev/sda1 rw\n"

static void it_is_where_the_kubelet_keeps_what_is_mounted(void **state)
{
    static const char *const rows[][2] = {
        {OTHER RUN(A) HOSTS(A), A},
        {HOSTS(A), A},
        {"3344 3329 8:1 /pods/" A "/containers/mysql/0a1b /dev/termination-log rw - xfs /dev/sdb rw\n", A},
        {"3344 3329 0:71 / /run/mysqld rw,relatime - tmpfs tmpfs rw\n" HOSTS(A), A},
        {"3345 3329 8:1 /var/snap/microk8s/common/var/lib/kubelet/pods/" A
         "/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n",
            A},
        {OTHER, ""},             /* a data volume may lie anywhere */
        {RUN(A) HOSTS(B), ""},   /* cannot be */
        {HOSTS("4dd08ffd"), ""}, /* of another form */
        {HOSTS("4DD08FFD-7f3d-4b2a-9a5a-d0a1c0b0a2cf"), ""},
        {"3345 3329 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n", ""},
        {"nonsense\n\n", ""},
        {"", ""},
    };

    UNUSED(state);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char uid[AGENT_POD_UID_SIZE];
        pod_uid_find(rows[i][0], "/run/mysqld", uid);
        assert_string_equal(uid, rows[i][1]);
    }
}

static void outside_of_a_pod_there_is_none(void **state)
{
    char uid[AGENT_POD_UID_SIZE];

    UNUSED(state);
    pod_uid_read("/run/mysqld", uid);
    assert_string_equal(uid, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_where_the_kubelet_keeps_what_is_mounted),
        cmocka_unit_test(outside_of_a_pod_there_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
