/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/cluster/reconcile/foreign_names.h"

#include "common/alloc.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "operator/cluster/desired/desired.h"
#include "operator/plan/ownership.h"

#define NAMES_MAX (CHILD_COUNT + 6)
#define TEXT_MAX 1024

struct look;

struct name {
    struct look *look;
    enum plan_kind kind;
    char name[DERIVED_NAME_SIZE];
    bool is_foreign;
};

struct look {
    const struct plan_targets *targets;
    foreign_names_done_fn done;
    void *arg;
    json_t *metadata;
    bool adopts;
    struct name names[NAMES_MAX];
    int count, pending;
};

static void look_end(struct look *look)
{
    _cleanup_(strbuf_release) struct strbuf text;
    int foreign = 0;
    strbuf_init(&text, TEXT_MAX);
    for (int i = 0; i < look->count; i++) {
        if (look->names[i].is_foreign)
            strbuf_addf(
                &text, "%s%s %s", foreign++ > 0 ? ", " : "", plan_kind_name(look->names[i].kind), look->names[i].name);
    }
    strbuf_adds(&text, ": objects of these names exist and are not ours; they are left alone. Rename or remove them");
    look->done(look->arg, foreign > 1 ? text.buf : NULL);
    json_decref(look->metadata);
    free(look);
}

/* What a former owner left goes by itself; what is taken over is in nobody's way. */
static void on_read(void *arg, const struct kube_answer *answer, const struct error *err)
{
    struct name *name = arg;
    struct look *look = name->look;
    const char *manager = kube_client_field_manager(look->targets->client);
    if (!err)
        name->is_foreign = ownership_of(answer->object, look->metadata) == OWNERSHIP_FOREIGN &&
            !(look->adopts && ownership_is_orphan(answer->object, look->metadata, manager));
    if (--look->pending == 0)
        look_end(look);
}

static void add(struct look *look, enum plan_kind kind, const char *name)
{
    struct name *added = &look->names[look->count++];
    *added = (struct name){.look = look, .kind = kind};
    snprintf(added->name, sizeof(added->name), "%s", name);
}

void foreign_names_look(
    const struct plan_targets *targets, const struct cluster_snapshot *snapshot, foreign_names_done_fn done, void *arg)
{
    const struct cluster_names *names = &snapshot->names;
    struct look *look = xnew(struct look);
    *look = (struct look){.targets = targets,
        .done = done,
        .arg = arg,
        .metadata = desired_child_metadata(snapshot),
        .adopts = cluster_takes_over(snapshot)};
    add(look, PLAN_SECRET, names->accounts);
    add(look, PLAN_SECRET, names->ca);
    add(look, PLAN_SECRET, names->tls);
    for (int child = 0; child < CHILD_COUNT; child++)
        add(look, desired_child_kind((enum cluster_child)child), desired_child_name(names, (enum cluster_child)child));
    if (snapshot->cluster.username)
        add(look, PLAN_SECRET, names->app);
    add(look, PLAN_CONFIG_MAP, names->ca_bundle);
    if (snapshot->cluster.has_terminal)
        add(look, PLAN_TERMINAL, names->terminal);
    look->pending = look->count;
    for (int i = 0; i < look->count; i++)
        kube_get(targets->client, targets->kinds[look->names[i].kind].resource, snapshot->ns, look->names[i].name,
            on_read, &look->names[i]);
}
