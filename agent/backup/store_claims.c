/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_claims.h"

#include "agent/backup/store_request.h"
#include "common/alloc.h"

struct claim {
    char id[STORE_ID_SIZE];
    uint64_t unit; /* size of part 1, as it was first sent */
    bool has_unit;
    unsigned char taken[STORE_PARTS_MAX / 8 + 1];
};

struct store_claims {
    struct claim *claims[STORE_CLAIMS_MAX];
    size_t next; /* replaced next */
};

struct store_claims *store_claims_new(void)
{
    return xnew(struct store_claims);
}

void store_claims_free(struct store_claims *claims)
{
    for (size_t i = 0; claims && i < STORE_CLAIMS_MAX; i++)
        free(claims->claims[i]);
    free(claims);
}

void store_claims_begin(struct store_claims *claims, const char *id)
{
    struct claim *claim = xnew(struct claim);

    snprintf(claim->id, sizeof(claim->id), "%s", id);
    free(claims->claims[claims->next]);
    claims->claims[claims->next] = claim;
    claims->next = (claims->next + 1) % STORE_CLAIMS_MAX;
}

static struct claim **find(struct store_claims *claims, const char *id)
{
    for (size_t i = 0; i < STORE_CLAIMS_MAX; i++) {
        if (claims->claims[i] && str_eq(claims->claims[i]->id, id))
            return &claims->claims[i];
    }
    return NULL;
}

int64_t store_claims_take(struct store_claims *claims, const char *id, int number, uint64_t bytes)
{
    struct claim **found = find(claims, id);
    struct claim *claim = found ? *found : NULL;
    unsigned char bit = (unsigned char)(1U << (unsigned)number % 8);

    if (!claim || number < 1 || number > STORE_PARTS_MAX || claim->taken[number / 8] & bit)
        return -1;
    claim->taken[number / 8] |= bit; /* also when it is not written in place: the next try is not either */
    if (number == 1 && !claim->has_unit) {
        claim->unit = bytes;
        claim->has_unit = true;
    }
    if (bytes > claim->unit || (number == 1 && bytes != claim->unit) || claim->unit > INT64_MAX / STORE_PARTS_MAX)
        return -1;
    return (int64_t)((uint64_t)(number - 1) * claim->unit);
}

void store_claims_release(struct store_claims *claims, const char *id, int number)
{
    struct claim **found = find(claims, id);

    if (found && number >= 1 && number <= STORE_PARTS_MAX)
        (*found)->taken[number / 8] &= (unsigned char)~(1U << (unsigned)number % 8);
}

void store_claims_end(struct store_claims *claims, const char *id)
{
    struct claim **found = find(claims, id);

    if (!found)
        return;
    free(*found);
    *found = NULL;
}
