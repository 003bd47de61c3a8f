/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent_identity.h: which pod's agent is meant, and which one answers.
 *
 * All members of a cluster have one certificate (*.NAME-mysql.NS.svc), so TLS proves that an agent is this cluster's
 * and not whose. Addresses are used again: while caches or names lag behind, a request for one member may reach
 * another. So each says who it is, and neither side takes a stranger's word:
 * - every request on the TLS door carries ?to=POD, those of the operator also &uid=UID. An agent that is not that pod's
 *   answers 421 (RFC 9110, 15.5.20: misdirected request) with a reason, whatever was asked, and does nothing. Without
 *   `to` anybody is meant: earlier versions send none, and leave it unread.
 * - an order carries &boot=BOOTID as well, of the status that it follows from: one that was under way for long, for
 *   `init` perhaps or for an agent whose server has ended since, is not taken up by the process that came after it
 *   (421).
 * - the status says `instance` and `podUid`, and who has asked compares them. `podUid` is "" where it is not known, as
 *   of earlier versions.
 * It is no part of an order, so that the hash of an order is what it was before.
 */
#ifndef KM_COMMON_AGENT_IDENTITY_H
#define KM_COMMON_AGENT_IDENTITY_H

#include "common/base.h"

#include "common/strbuf.h"

#define AGENT_POD_NAME_SIZE 254 /* RFC 1123 subdomain, and its end */
#define AGENT_IDENTITY_MISDIRECTED 421
#define AGENT_POD_UID_SIZE 64 /* a UUID; of a static pod a hash of its file */

/* Appends it to a path or URL, which may have a query already. pod "" or NULL: nothing; uid likewise. Both need no
 * percent-encoding, whatever does is left out with a pod's name. */
void agent_identity_add(struct strbuf *url, const char *pod, const char *uid);
/* The pod that has this name in the network, as cluster_member_host has it: "c1-mysql-0" of
 * "c1-mysql-0.c1-mysql.ns.svc". "" for addresses, which name nobody. */
void agent_identity_of_host(const char *host, char ret[static AGENT_POD_NAME_SIZE]);
/* Whether who is called (pod, uid) is meant. NULL and "" are: not known, or not said; then there is nothing to
 * compare. */
bool agent_identity_is(const char *meant_pod, const char *meant_uid, const char *pod, const char *uid);

#endif
