/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h: what this build calls itself. Set by the Makefile (-DKM_VERSION="...").
 */
#ifndef KM_COMMON_VERSION_H
#define KM_COMMON_VERSION_H

#ifndef KM_VERSION
#define KM_VERSION "0.0.0-dev"
#endif

/* "kube-mysql/VERSION": the User-Agent of both processes and the field manager's version part. */
#define KM_USER_AGENT "kube-mysql/" KM_VERSION

#endif
