/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_security.h: the security contexts of every pod that we make: the `restricted` Pod Security profile with a
 * read-only root file system.
 *
 * https://kubernetes.io/docs/concepts/security/pod-security-standards/
 */
#ifndef KM_POD_SECURITY_H
#define KM_POD_SECURITY_H

#include "common/base.h"

#include <jansson.h>

#include "operator/api/mysql_config.h"

/* New documents for spec.securityContext and a container's securityContext. */
json_t *pod_security_context(const struct mysql_config_spec *config);
json_t *container_security_context(void);

#endif
