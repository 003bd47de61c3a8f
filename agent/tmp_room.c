/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/tmp_room.h"

/* Of the whole: who has less of it is not who fills it, nor does ending it help. */
#define PART 32

const char *const tmp_evidence_names[] = {
    [TMP_EVIDENCE_NONE] = "nothing",
    [TMP_EVIDENCE_SERVER] = "the server's count",
    [TMP_EVIDENCE_THREAD] = "what its thread wrote",
    [TMP_EVIDENCE_STATEMENT] = "what its statement does",
};

uint64_t tmp_room_bound(uint64_t volume_bytes, uint64_t ephemeral_bytes)
{
    if (ephemeral_bytes)
        return ephemeral_bytes / 4 * 3;
    if (!volume_bytes)
        return 0;
    return MIN_OF(MAX_OF(volume_bytes / 4, TMP_BOUND_MIN), TMP_BOUND_MAX);
}

/* From before the node was started anew its clock was ahead. */
bool tmp_room_knows(const struct tmp_look *look, int64_t now_ms)
{
    return look->at_ms > 0 && look->at_ms <= now_ms && now_ms - look->at_ms < TMP_LOOK_OLD_MS;
}

void tmp_history_add(struct tmp_history *history, const struct tmp_look *look)
{
    if (history->count > 0 && history->looks[history->newest].at_ms == look->at_ms)
        return;
    history->newest = history->count > 0 ? (history->newest + 1) % TMP_HISTORY_LOOKS : 0;
    history->looks[history->newest] = *look;
    history->count = MIN_OF(history->count + 1, TMP_HISTORY_LOOKS);
}

static uint64_t credit_in(const struct tmp_look *look, uint64_t thread)
{
    for (size_t i = 0; i < look->writer_count; i++) {
        if (look->writers[i].thread == thread)
            return look->writers[i].bytes;
    }
    return 0;
}

/* A thread may have written for another connection, or another transaction, before. Credits shrink with the files: so
 * the least of them since then is what was not written since. */
static uint64_t credit_since(const struct tmp_history *history, uint64_t thread, int64_t since_ms)
{
    uint64_t now = credit_in(&history->looks[history->newest], thread), before = now;

    for (size_t i = 0; i < history->count; i++) {
        const struct tmp_look *look = &history->looks[(history->newest + TMP_HISTORY_LOOKS - i) % TMP_HISTORY_LOOKS];
        uint64_t credit = credit_in(look, thread);
        before = MIN_OF(before, credit);
        if (look->at_ms <= since_ms)
            return now - before;
    }
    return now; /* it began before all that is remembered */
}

static uint64_t weight(
    const struct tmp_history *history, const struct tmp_client *client, enum tmp_evidence evidence, int64_t now_ms)
{
    uint64_t least = MAX_OF(history->looks[history->newest].bytes / PART, (uint64_t)TMP_LOOK_CREDIT_MIN);
    uint64_t bytes = 0;

    if (evidence == TMP_EVIDENCE_STATEMENT)
        return client->runs && client->makes_files ? (uint64_t)MAX_OF(client->age_ms, 0) + 1 : 0;
    if (evidence == TMP_EVIDENCE_SERVER)
        bytes = client->bytes;
    else if (client->runs && client->thread)
        bytes = credit_since(history, client->thread, now_ms - client->age_ms);
    return bytes >= least ? bytes : 0;
}

/* Threads have written most of it: then it is theirs, also where none of them may be ended. */
static bool is_written_by_threads(const struct tmp_look *look)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < look->writer_count; i++)
        sum += MIN_OF(look->writers[i].bytes, look->bytes);
    return sum >= look->bytes / 2;
}

struct tmp_choice tmp_room_choose(
    const struct tmp_history *history, const struct tmp_client *clients, size_t count, int64_t now_ms)
{
    struct tmp_choice choice = {.evidence = TMP_EVIDENCE_NONE};

    for (enum tmp_evidence evidence = TMP_EVIDENCE_SERVER; evidence <= TMP_EVIDENCE_STATEMENT; evidence++) {
        uint64_t most = 0;
        if (evidence == TMP_EVIDENCE_STATEMENT && is_written_by_threads(&history->looks[history->newest]))
            break;
        for (size_t i = 0; i < count; i++) {
            uint64_t its = clients[i].may_end ? weight(history, &clients[i], evidence, now_ms) : 0;
            if (its <= most)
                continue;
            most = its;
            choice = (struct tmp_choice){
                .evidence = evidence, .client = i, .bytes = evidence == TMP_EVIDENCE_STATEMENT ? 0 : its};
        }
        if (most)
            break;
    }
    return choice;
}

bool tmp_room_waits(const struct tmp_ended *ended, const struct tmp_look *look, bool is_there, int64_t now_ms)
{
    if (!ended->id || now_ms - ended->at_ms >= TMP_GONE_MAX_MS)
        return false;
    if (look->at_ms < ended->at_ms + TMP_SETTLE_MS)
        return true;
    return is_there && look->bytes <= ended->bytes + ended->bytes / 16;
}
