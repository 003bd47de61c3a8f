/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "e2e/simulation/clients.h"

#include "e2e/simulation/check.h"
#include "e2e/simulation/server.h"

#define PROXY_MS 150     /* until kube-proxy follows the EndpointSlice */
#define IDLE_MS 20000    /* the longest pause of one that writes seldom */
#define PATIENCE_MS 3000 /* of one that does not wait for long: its time-out for an answer */

static int route_of(const struct sim *sim)
{
    return sim->now_ms - sim->api.route_ms < PROXY_MS ? sim->api.route_before : sim->api.route;
}

/* A node that is cut off from everybody serves no client either. */
static bool reaches(const struct sim *sim, int member)
{
    return !sim_is_cut(sim, SIM_API, member) && !sim_is_cut(sim, member, SIM_API);
}

static void disconnect(struct sim *sim, struct sim_client *client, int64_t pause_ms)
{
    client->member = client->txn = -1;
    client->due_ms = sim->now_ms + pause_ms;
}

static void connect(struct sim *sim, struct sim_client *client)
{
    int member = route_of(sim);
    if (member < 0 || !server_answers(sim, member) || !reaches(sim, member)) {
        disconnect(sim, client, 100);
        return;
    }
    client->member = member;
    client->run = sim->members[member].server.run;
}

static void write_one(struct sim *sim, struct sim_client *client, int who)
{
    const struct sim_member *at = &sim->members[client->member];
    client->txn = server_write(sim, client->member, TXN_CLIENT, at->disk.epoch);
    client->since_ms = sim->now_ms;
    if (client->txn < 0) /* read-only: the next attempt goes by the route */
        disconnect(sim, client, sim_between(sim, who, 91, 50, 200));
}

/* One that gives up and connects anew reaches a primary that was opened elsewhere meanwhile. What it had sent goes on
 * waiting in the server. */
static void step(struct sim *sim, int who)
{
    struct sim_client *client = &sim->clients[who];
    if (client->member >= 0 && sim->members[client->member].server.run != client->run) {
        disconnect(sim, client, sim_between(sim, who, 92, 20, 200));
        return;
    }
    if (client->member >= 0 && (!server_answers(sim, client->member) || !reaches(sim, client->member)))
        return;
    if (client->txn >= 0) {
        if (!server_has_committed(sim, client->member, client->txn)) {
            if (sim->schedule->impatient && sim->now_ms - client->since_ms > PATIENCE_MS)
                disconnect(sim, client, 100);
            return;
        }
        check_acknowledged(sim, client->member, client->txn);
        client->txn = -1;
        int64_t longest_ms = sim->calm ? 1500 : sim->schedule->idle ? IDLE_MS : 240;
        client->due_ms = sim->now_ms + sim_between(sim, who, 93, 40, longest_ms);
    }
    if (sim->now_ms < client->due_ms)
        return;
    if (client->member < 0)
        connect(sim, client);
    if (client->member >= 0)
        write_one(sim, client, who);
}

void clients_step(struct sim *sim)
{
    for (int i = 0; i < SIM_CLIENTS; i++)
        step(sim, i);
}
