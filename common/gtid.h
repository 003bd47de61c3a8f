/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gtid.h: GTID sets of both families, as values that can be compared.
 *
 * MySQL:   "uuid:1-5:7,uuid2:1-3" (with tags since 8.3: "uuid:tag:1-5"), a set of intervals per source.
 *          https://dev.mysql.com/doc/refman/8.0/en/replication-gtids-concepts.html
 * MariaDB: "0-1-100,1-2-33", one position (domain-server-sequence) per domain.
 *          https://mariadb.com/kb/en/gtid/ . Within a domain, sequence numbers only grow; a set is "everything up to".
 * Pure; no SQL. Limits: GTID_TEXT_MAX bytes of input, GTID_INTERVALS_MAX intervals; beyond: ERROR_TOO_LARGE.
 */
#ifndef KM_COMMON_GTID_H
#define KM_COMMON_GTID_H

#include "common/base.h"

#include "common/error.h"
#include "common/strbuf.h"

#define GTID_TEXT_MAX (256 * KM_KIB)
#define GTID_INTERVALS_MAX 16384

enum gtid_flavour { GTID_MYSQL, GTID_MARIADB };

struct gtid_set;

/* White space and line breaks between parts are accepted (SHOW prints them); "" is the empty set. NULL on error. */
struct gtid_set *gtid_set_parse(enum gtid_flavour flavour, const char *text, struct error *err);
void gtid_set_free(struct gtid_set *set);
static inline void gtid_set_freep(struct gtid_set **p)
{
    gtid_set_free(*p);
}
void gtid_set_print(const struct gtid_set *set, struct strbuf *out); /* canonical: sorted, merged */
bool gtid_set_is_empty(const struct gtid_set *set);

enum gtid_relation {
    GTID_EQUAL,
    GTID_SUBSET,   /* a holds less than b */
    GTID_SUPERSET, /* a holds more than b */
    GTID_DIVERGED, /* each holds something that the other lacks */
};
/* Both of the same flavour. MariaDB: compared per domain by sequence number; same sequence from two servers is
 * DIVERGED. */
enum gtid_relation gtid_set_compare(const struct gtid_set *a, const struct gtid_set *b);
/* a minus b: what a has executed and b has not (errant transactions). MariaDB: the positions of a that are ahead. New
 * set. */
struct gtid_set *gtid_set_subtract(const struct gtid_set *a, const struct gtid_set *b);
/* What both hold. MariaDB: per domain the position that is behind; of two servers' transactions of the same number
 * neither is in it. New set. */
struct gtid_set *gtid_set_intersect(const struct gtid_set *a, const struct gtid_set *b);
/* MySQL: the transactions that the server of this UUID wrote, under any tag. New set. */
struct gtid_set *gtid_set_of_source(const struct gtid_set *set, const char *uuid);
/* Adds all of other. MariaDB: per domain the position that is ahead stays. */
void gtid_set_unite(struct gtid_set *set, const struct gtid_set *other);

/* One transaction, as a binary log names it. */
struct gtid_one {
    char source[37];         /* MySQL: UUID in lower case */
    uint32_t domain, server; /* MariaDB */
    uint64_t number;
};
struct gtid_set *gtid_set_new(enum gtid_flavour flavour);
/* MariaDB: everything up to it, in its domain. */
void gtid_set_add(struct gtid_set *set, const struct gtid_one *one);
/* MariaDB: by its number alone. */
bool gtid_set_contains(const struct gtid_set *set, const struct gtid_one *one);
void gtid_one_print(enum gtid_flavour flavour, const struct gtid_one *one, struct strbuf *out);
/* MariaDB: the position of the index'th domain, in their order; false: there are not so many. */
bool gtid_set_position(const struct gtid_set *set, size_t index, struct gtid_one *ret);
/* MySQL: the first transaction of the index'th interval, ordered by source; false: there are not so many. */
bool gtid_set_first_of(const struct gtid_set *set, size_t index, struct gtid_one *ret);
/* MariaDB. state: gtid_binlog_state, the last transaction of each domain and server. True: a transaction that `wanted`
 * names was never written to that binary log, whatever number this has reached: of the same domain and server it has
 * only earlier ones. It was lacking when another server went on counting, so two transactions have its number. What
 * came by a copy, before the binary log began, is not named: false. So is a state that cannot be parsed. */
bool gtid_state_lacks(const char *state, const struct gtid_set *wanted);
/* Number of transactions in the set (MySQL), sum of sequence numbers (MariaDB); saturates. */
uint64_t gtid_set_count(const struct gtid_set *set);

#endif
