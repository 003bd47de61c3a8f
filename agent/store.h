/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h: `kube-mysql-agent store --directory=DIR`: serves a volume of backups; backup/store_server.h has the
 * requests.
 *
 * Port 8443, mutual TLS with the cluster's CA: the operator and the members may connect. Certificates are read from
 * the mounted files and again when they change; until they are usable, or while another store writes into the
 * same folder, it does not listen there; /ready says why, and the log once. A volume that cannot be used, or
 * certificates that are missing, for ten seconds end it with an error. Port 8080, plain: /live, /ready. Ends with
 * SIGTERM and SIGINT once nothing is under way: requests that come then get Busy, those that take longer than eight
 * seconds are cut off and leave nothing behind. Uploads that were begun go on with the next store on this node.
 * A folder that is mounted read-only is served to readers, beside a store that writes.
 */
#ifndef KM_AGENT_STORE_H
#define KM_AGENT_STORE_H

#include "common/base.h"

#include "agent/options.h"
#include "common/error.h"

int store_run(const struct agent_options *options, struct error *err) KM_MUST_CHECK;

#endif
