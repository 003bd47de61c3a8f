/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/bootstrap/self_fence.h"

#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "common/alloc.h"
#include "common/fs.h"
#include "common/json.h"
#include "common/json_note.h"

#define TEXT_MAX 256

static const struct json_field fields[] = {
    JSON_FIELD(self_fence, "epoch", JSON_FIELD_U64, CHANGE_COUNTS, epoch),
    JSON_FIELD(self_fence, "selfFenceMs", JSON_FIELD_U32, CHANGE_COUNTS, ms),
    JSON_FIELD(self_fence, "selfFenceMembers", JSON_FIELD_U32, CHANGE_COUNTS, members),
};

struct self_fence self_fence_of(const struct agent_order *order)
{
    struct self_fence fence = {0};

    if (order->role == AGENT_ROLE_PRIMARY && order->self_fence_ms)
        fence = (struct self_fence){
            .epoch = order->epoch, .ms = order->self_fence_ms, .members = order->self_fence_members};
    return fence;
}

bool self_fence_same(const struct self_fence *a, const struct self_fence *b)
{
    return json_fields_same(fields, ARRAY_LEN(fields), a, b);
}

static char *fence_path(const struct agent_paths *paths)
{
    return xasprintf("%s/self-fence.json", paths->run_dir);
}

int self_fence_write(const struct agent_paths *paths, const struct self_fence *fence, struct error *err)
{
    _cleanup_(freep) char *path = fence_path(paths);
    _cleanup_(json_decrefp) json_t *object = json_object();

    if (!fence->ms)
        return unlink(path) == 0 || errno == ENOENT ? 0 : error_set_errno(err, errno, "removing %s", path);
    json_fields_encode(fields, ARRAY_LEN(fields), fence, object);
    _cleanup_(freep) char *text = json_text(object);
    return fs_write_note(path, text, 0600, err);
}

struct self_fence self_fence_read(const struct agent_paths *paths)
{
    _cleanup_(freep) char *path = fence_path(paths);
    struct self_fence fence = {0};

    if (json_note_read(path, TEXT_MAX, fields, ARRAY_LEN(fields), NULL, &fence, NULL) < 0)
        return (struct self_fence){0};
    return fence;
}
