/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed_rig.h: pods for tests of seeding: a donor that is a primary, a member without data, room for a third one; all of
 * one CA, as in one cluster.
 */
#ifndef KM_AGENT_TESTS_SEED_RIG_H
#define KM_AGENT_TESTS_SEED_RIG_H

#include "common/base.h"

#include <sys/types.h>

#include "agent/tests/agent_rig.h"
#include "common/http_server.h"
#include "common/tls.h"

#define SEED_RIG_ROOT_PASSWORD "pw-root'\\"

struct seed_rig {
    char *root; /* agent_rig_new_in */
    const char *mycnf;
    struct agent_rig *donor;
    struct agent_rig *other; /* the test's */
    struct agent_rig *member;
    struct tls_keypair ca;
    pid_t helper; /* a process of the test itself; ended with the rig */
    bool mounted;
};

/* The donor serves and is writable, the member has never been started. root: as of agent_rig_new_in. */
struct seed_rig *seed_rig_new(const char *root);
/* The same, every pod with this my.cnf; NULL: that of agent_rig. */
struct seed_rig *seed_rig_new_with(const char *root, const char *mycnf);
void seed_rig_free(struct seed_rig *world); /* kills what runs */
struct agent_rig *seed_rig_pod(struct seed_rig *world, const char *name);
void seed_rig_start_primary(struct agent_rig *rig);
/* server and run, following the donor, whose data it has. */
void seed_rig_start_replica(const struct seed_rig *world, struct agent_rig *rig);
/* The volume of the member becomes a file system of its own. size: "200M". */
void seed_rig_limit_volume(struct seed_rig *world, const char *size);
/* Clients fill the volume with a file "filling" until so much is left. What is free may be taken by others meanwhile. */
void seed_rig_fill_volume(const struct agent_rig *rig, uint64_t left_bytes);

/* As the operator; repeats while nobody listens, fails the test when it is refused. */
void seed_rig_order(const struct agent_rig *rig, const char *text);
/* The caller frees. */
char *seed_rig_clone_order(const struct agent_rig *donor, unsigned epoch, bool replace);
/* The member's init, with the order to clone. */
struct agent_process seed_rig_clone(struct seed_rig *world, const struct agent_rig *donor, bool replace);

/* The first line of the answer that root gets is this one; now, or within ten seconds. */
bool seed_rig_is(const struct agent_rig *rig, const char *sql, const char *answer);
bool seed_rig_becomes(const struct agent_rig *rig, const char *sql, const char *answer);
/* All of the answer. The caller frees. */
char *seed_rig_text(const struct agent_rig *rig, const char *sql);

/* Its server runs under the server id that was drawn for the copy (server_id.h), not under that of my.cnf. */
void seed_rig_has_own_server_id(const struct agent_rig *rig);

/* A donor that serves routes for ever, in the helper process; returns the port. */
uint16_t seed_rig_start_liar(struct seed_rig *world, const struct http_route *routes, void *arg);
void seed_rig_end_helper(struct seed_rig *world);

/* Writes on the donor, in the helper process: its procedure d.write_on goes on for as long as d.go holds rows, and
 * fills d.live. */
void seed_rig_start_writer(struct seed_rig *world);
void seed_rig_stop_writer(struct seed_rig *world);

#endif
