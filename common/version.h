/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version.h: what this build calls itself. Set by the Makefile (-DKM_VERSION="...").
 */
#ifndef KM_COMMON_VERSION_H
#define KM_COMMON_VERSION_H

#ifndef KM_VERSION
#define KM_VERSION "0.0.0-dev"
#endif

/* The commit that a program was built from, twelve digits; "" not known. Set by its main (KM_COMMIT): nothing else is
 * built anew for another commit. */
extern const char *build_commit;

/* "kube-mysql/VERSION": the User-Agent of both processes and the field manager's version part. */
#define KM_USER_AGENT "kube-mysql/" KM_VERSION

#endif
