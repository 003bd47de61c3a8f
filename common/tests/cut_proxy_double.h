/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut_proxy_double.h: a TCP proxy on loopback, inside the test's loop, that breaks one connection after so many bytes
 * have gone through it: in the middle of a request, or of its answer.
 */
#ifndef KM_COMMON_TESTS_CUT_PROXY_DOUBLE_H
#define KM_COMMON_TESTS_CUT_PROXY_DOUBLE_H

#include "common/base.h"

#include "common/loop.h"

struct cut_proxy;
/* to: a port of 127.0.0.1. */
struct cut_proxy *cut_proxy_new(struct loop *loop, uint16_t to);
void cut_proxy_free(struct cut_proxy *proxy);
uint16_t cut_proxy_port(const struct cut_proxy *proxy);
/* Forgets what was counted. The connection over which byte number at_up (from clients), or at_down (to clients), would
 * go is broken there, once; UINT64_MAX: never. */
void cut_proxy_cut(struct cut_proxy *proxy, uint64_t at_up, uint64_t at_down);
/* Since then. */
uint64_t cut_proxy_up(const struct cut_proxy *proxy);
uint64_t cut_proxy_down(const struct cut_proxy *proxy);

#endif
