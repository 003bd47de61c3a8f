/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_keep.h: whether what a server had received, and not yet applied, outlives its next start.
 *
 * A relay log is written before an acknowledgement is given, and synced rarely (sync_relay_log = 10000 by default). The
 * death of a process, or of all containers of a pod, takes nothing of it: it is in the kernel's cache. The end of a
 * node may take any part of it, also of the middle: a file may be shorter than it was while the next one is whole,
 * which an applier does not notice. So a server is started with relay_log_recovery = OFF, which keeps its relay logs,
 * only if its data was served last from this pod and under this boot of the kernel, or was synced then, all the time,
 * and is now (sync_relay_log = 1); else with ON, which drops them.
 *
 * Tried: MySQL 9.7.4 started with OFF goes on with its relay logs, 38 kills of 38, and so does MariaDB 10.11.19 with an
 * agent's help (relay_recover.h). With ON both drop them. MySQL 5.7 keeps its applier's position in a file by default
 * and was not tried: it is started as before.
 *
 * data/kube-mysql-relay.json, on the disk before the server writes anything: the boot, the pod, whether relay logs are
 * synced, and whether those of an earlier boot or pod are still to be dropped. A server that was started with ON may be
 * killed before it has dropped them (MariaDB drops them only when a thread starts), so every further start drops them
 * too, until an agent has seen to it (relay_keep_dropped). The file is in the data folder, so that another one's relay
 * logs are not taken for these. run_dir/relay-pod: a name for the pod's run folder.
 */
#ifndef KM_AGENT_BOOTSTRAP_RELAY_KEEP_H
#define KM_AGENT_BOOTSTRAP_RELAY_KEEP_H

#include "common/base.h"

#include "agent/bootstrap/paths.h"
#include "agent/mysql/dialect.h"
#include "common/error.h"

#define RELAY_KEEP_NAME_SIZE 40

struct relay_keep {
    char boot[RELAY_KEEP_NAME_SIZE]; /* /proc/sys/kernel/random/boot_id */
    char pod[RELAY_KEEP_NAME_SIZE];
    bool synced;
    bool dropping; /* only of a note: relay logs of an earlier boot or pod may still be there */
};

/* Pure. noted: of the start before, all empty if it is not known. */
bool relay_keep_decide(const struct relay_keep *noted, const struct relay_keep *now);
/* run_dir/caught-up.json: what an agent has noted of relay logs (agent/catch_up_note.h). The caller frees. */
char *relay_keep_proof_path(const struct agent_paths *paths);
/* "" if the kernel does not say. */
void relay_keep_boot(char ret[static RELAY_KEEP_NAME_SIZE]);
/* The pod's name of its run folder, made if there is none; "" it cannot be. */
void relay_keep_pod(const struct agent_paths *paths, char ret[static RELAY_KEEP_NAME_SIZE]);

/* Before the server is started: decides, and notes what the next start has to know. The option for the server; NULL: as
 * my.cnf has it. Where relay logs are not kept, what an agent had noted of them is removed. */
const char *relay_keep_option(const struct agent_paths *paths, const struct server_version *version);
/* Whether the server runs with relay logs that are still to be dropped. */
bool relay_keep_is_dropping(const struct agent_paths *paths);
/* The server runs, and its relay logs were dropped since it was started, or it has none: what is written from now on is
 * kept. Blocking. */
int relay_keep_dropped(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;
/* The server runs, and does not sync its relay logs, whatever it was started with. Blocking; not at the same time as
 * relay_keep_dropped. */
int relay_keep_unsynced(const struct agent_paths *paths, struct error *err) KM_MUST_CHECK;

#endif
