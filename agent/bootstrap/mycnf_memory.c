/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/mycnf_memory.h"

#include "agent/mysql/variables.h"
#include "common/cache_options.h"
#include "common/option_size.h"

struct demand {
    const struct variable_change *largest; /* NULL: none is set */
    uint64_t largest_bytes, total_bytes;   /* no more than UINT64_MAX */
};

static bool is_cache(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(cache_options); i++) {
        if (str_eq(name, cache_options[i]))
            return true;
    }
    return false;
}

static struct demand demand_of(const struct variable_changes *options)
{
    struct demand demand = {0};

    for (size_t i = 0; i < options->n; i++) {
        uint64_t bytes;
        if (!is_cache(options->v[i].name))
            continue;
        option_size_read(str_or_empty(options->v[i].value), &bytes);
        demand.total_bytes += MIN_OF(bytes, UINT64_MAX - demand.total_bytes);
        if (demand.largest && bytes <= demand.largest_bytes)
            continue;
        demand.largest = &options->v[i];
        demand.largest_bytes = bytes;
    }
    return demand;
}

static int refuse(const struct demand *demand, uint64_t bytes, const char *others, const char *what, uint64_t bound,
    struct error *err)
{
    return error_set(err, ERROR_INVALID, "%s = %s%s is %s %s (%lluMi)", demand->largest->name,
        str_or_empty(demand->largest->value), others, bytes > bound ? "more than" : "all of", what,
        (unsigned long long)(bound / (uint64_t)KM_MIB));
}

int mycnf_memory_check(const char *text, const struct mycnf_memory *memory, struct error *err)
{
    static const char limit[] = "the memory limit of its container", machine[] = "the memory of its node";
    _cleanup_(variable_changes_release) struct variable_changes options = {0};

    if (variables_diff("", text, &options, err) < 0)
        return -1;
    struct demand demand = demand_of(&options);
    if (memory->limit && demand.largest_bytes >= memory->limit)
        return refuse(&demand, demand.largest_bytes, "", limit, memory->limit, err);
    if (memory->machine && demand.largest_bytes >= memory->machine)
        return refuse(&demand, demand.largest_bytes, "", machine, memory->machine, err);
    if (memory->machine && demand.total_bytes >= memory->machine)
        return refuse(&demand, demand.total_bytes, " with the other caches of my.cnf", machine, memory->machine, err);
    return 0;
}
