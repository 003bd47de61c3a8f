/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_words.h: the last lines that a child process wrote to its standard error, and its first errors, for the case
 * that it fails: pure but for the log.
 *
 * The whole tail goes into the log of the container that ran the child, a line each; what tells, into a message. Zero
 * is empty and valid; it owns nothing.
 */
#ifndef KM_LAST_WORDS_H
#define KM_LAST_WORDS_H

#include "common/base.h"

#define LAST_WORDS_LINES 20
#define LAST_WORDS_ERRORS 4
#define LAST_WORDS_LINE_BYTES 300

struct last_words {
    char lines[LAST_WORDS_LINES][LAST_WORDS_LINE_BYTES]; /* a ring; cut at a character */
    unsigned count;                                      /* of all lines that were noted */
    /* The first errors since a server began (server_log.h): the ring may have lost them. */
    char errors[LAST_WORDS_ERRORS][LAST_WORDS_LINE_BYTES];
    unsigned error_count; /* of those that are held */
};

/* An empty line is none. */
void last_words_note(struct last_words *words, const char *line);
/* Of a whole output. */
void last_words_note_all(struct last_words *words, const char *text);
/* The lines that a server or tool marks as errors, without times, joined by "; ", the first ones first, and without
 * those that follow from them (server_log.h), unless there are no others; without any error the last line that is no
 * note or warning of a server, else the last line; "" if nothing was printed. Text that does not fit is cut between
 * words, with "...". */
void last_words_telling(const struct last_words *words, char *ret, size_t size);
/* As warnings, oldest first: {"program": …, "line": …}. */
void last_words_log(const struct last_words *words, const char *program);

#endif
