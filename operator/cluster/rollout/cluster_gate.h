/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_gate.h: whether what the members are to become was tried before one of them is touched: pure.
 *
 * Two are asked, in this order. The API server, by dry run, whether it would take a pod of another template
 * (template_question.h): it names fields that do not exist, classes that are not there, what admission refuses. Then a
 * check pod, placed and pulled as a member's pod would be: its scheduler says whether a node takes it, its kubelet
 * whether the image comes, and the image's own server what it says of my.cnf and of the data's version. A my.cnf that
 * the servers can take up while they run is only looked at; for all else the server is also started there
 * (enum check_kind). A value that looked so, and that a running server then refuses, is tried by a start before the
 * first of them is restarted.
 * Where no member is ready there is nobody to harm: what the API server refuses is told then, and holds up nothing but
 * the first StatefulSet of a new cluster. That one waits for the answer, too: an API server drops the unknown fields of
 * a StatefulSet's template without a word, and its pods would run without what was misspelt. A quota, which is no
 * matter of the template, does not hold it up: its controller tries again by itself.
 */
#ifndef KM_CLUSTER_GATE_H
#define KM_CLUSTER_GATE_H

#include "operator/cluster/rollout/cluster_decide.h"

/* Until a check pod that no node takes is news: a scheduler looks at once, and a node may be on its way. */
#define CHECK_PLACE_MS 10000
/* Until it is news that no scheduler has said anything, or that its containers have not started. */
#define CHECK_START_MS 60000

/* Fills gate, its reason and message, asks_template, set_waits, asks_before and gate_again_ms; the check pod goes into
 * the plan. */
void cluster_gate_decide(const struct cluster_snapshot *snapshot, struct cluster_decision *decision);

/* What the check pod for what is wanted says of values although it takes them, "" nothing; false: it has not ended
 * well, or is not there. */
bool cluster_check_words(const struct cluster_snapshot *snapshot, char *ret, size_t size);
/* The sizes that it started the server with instead of those that are wanted, "" none. */
const char *cluster_check_cut(const struct cluster_snapshot *snapshot);

#endif
