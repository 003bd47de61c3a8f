/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/tests/role_story.h"

#include "common/alloc.h"
#include "common/json.h"
#include "operator/api/names.h"

const char *role_story_status(struct operator_world *world, const char *member)
{
    _cleanup_(freep) char *path = xasprintf("status.%s", member);
    return world_str(world, PATH_CLUSTER, path);
}

void role_story_edit_spec(struct operator_world *world, const char *spec)
{
    _cleanup_(freep) char *text = xasprintf("{'metadata': {'generation': %lld}, 'spec': %s}",
        (long long)world_int(world, PATH_CLUSTER, "metadata.generation") + 1, spec);
    world_edit_json(world, PATH_CLUSTER, text);
}

/* ---- steps ---- */

bool role_story_settled(struct operator_world *world)
{
    return world_is_settled(world);
}

bool role_story_quiet(struct operator_world *world)
{
    return world_is_quiet(world, 150);
}

bool role_story_want_primary_1(struct operator_world *world)
{
    world_edit_json(world, PATH_CLUSTER, "{'metadata': {'annotations': {'" ANNOTATION_SWITCHOVER_TO "': '1'}}}");
    return true;
}

bool role_story_primary_is_1(struct operator_world *world)
{
    const struct agent_double *agent = world_agent(world, 1);
    return str_eq(role_story_status(world, "currentPrimary"), agent->name) && agent_double_is_open(agent);
}

bool role_story_shrink_to_1(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 1}");
    return true;
}

bool role_story_grow_to_2(struct operator_world *world)
{
    role_story_edit_spec(world, "{'replicas': 2}");
    return true;
}

/* ---- telling ---- */

/* What must not depend on where an operator died. */
static char *end_of(struct operator_world *world)
{
    _cleanup_(freep) char *children = world_children(world);
    return xasprintf("primary %s, state %s, semi-sync %d, retained %s %s, wished %s\n%s",
        role_story_status(world, "currentPrimary"), role_story_status(world, "state"),
        json_path_bool(kube_api_double_get(world->api, PATH_CLUSTER), "status.semiSync", false),
        role_story_status(world, "retainedVolumes[0]"), role_story_status(world, "retainedVolumes[1]"),
        role_story_status(world, "switchoverDone"), children);
}

static char *tell(const void *arg, size_t n, struct world_copies *copies)
{
    const struct role_story *story = arg;
    struct operator_world *world = operator_world_new();
    world->kill_after_step = story->begin;
    world->kill_after = n;
    world->copies = copies;
    world_put_cluster(world, story->more);
    operator_world_run(world, story->steps);
    char *end = end_of(world);
    world_copy_end(copies, end);
    operator_world_free(world);
    return end;
}

void role_story_dies_at_every_step(const struct role_story *story, size_t at_least)
{
    world_dies_at_every_step(tell, story, at_least);
}
