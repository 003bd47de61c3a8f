/* SPDX-License-Identifier: Apache-2.0 */
/* Who else is about to begin a backup with a member. */
#include "common/base.h"

#include <setjmp.h>
#include <cmocka.h>

#include "common/alloc.h"
#include "operator/backup/backup_memory.h"

static struct backup_memory *make(struct backup_memories *memories, const char *key, const char *ns, const char *donor)
{
    struct backup_memory *memory = backup_memories_get(memories, key, "u", NULL);
    str_replace(&memory->ns, ns);
    snprintf(memory->begins_with, sizeof(memory->begins_with), "%s", donor);
    return memory;
}

static void test_begun(void **state)
{
    UNUSED(state);
    struct backup_memories memories;
    backup_memories_init(&memories);
    const struct backup_memory *fresh = backup_memories_get(&memories, "ns1/fresh", "u", NULL);
    assert_false(backup_memories_have_begun(&memories, fresh, "ns1", "shop-mysql-1"));
    const struct backup_memory *one = make(&memories, "ns1/one", "ns1", "shop-mysql-1");
    assert_true(backup_memories_have_begun(&memories, fresh, "ns1", "shop-mysql-1"));
    assert_false(backup_memories_have_begun(&memories, one, "ns1", "shop-mysql-1"));
    assert_false(backup_memories_have_begun(&memories, fresh, "ns1", "shop-mysql-2"));
    assert_false(backup_memories_have_begun(&memories, fresh, "ns2", "shop-mysql-1"));
    make(&memories, "ns1/one", "ns1", "");
    assert_false(backup_memories_have_begun(&memories, fresh, "ns1", "shop-mysql-1"));
    backup_memories_release(&memories);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_begun)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
