/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/json_value_scan.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BLOCK_BYTES = 64 };

/* Bytes of numbers and of true, false, null. */
static const bool scalar_bytes[256] = {
    ['0' ... '9'] = true, ['a' ... 'z'] = true, ['A' ... 'Z'] = true, ['+'] = true, ['-'] = true, ['.'] = true};

bool json_value_scan_begin(struct json_value_scan *scan, char first)
{
    *scan = (struct json_value_scan){.kind = JSON_SCAN_SCALAR};
    if (first == '"')
        scan->kind = JSON_SCAN_STRING;
    else if (first == '{' || first == '[')
        scan->kind = JSON_SCAN_CONTAINER;
    else
        return first == '-' || (first >= '0' && first <= '9') || first == 't' || first == 'f' || first == 'n';
    return true;
}

static const char *run_scalar(const char *p, const char *end)
{
    while (p < end && scalar_bytes[(unsigned char)*p])
        p++;
    return p < end ? p : NULL;
}

/* The first quote or backslash, or end. */
static const char *find_string_mark(const char *p, const char *end)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)p);
        int marks = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)));
        if (marks)
            return p + __builtin_ctz((unsigned)marks);
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

static const char *run_string(struct json_value_scan *scan, const char *p, const char *end)
{
    if (!scan->in_string && p < end) {
        scan->in_string = ~0ULL;
        p++; /* the opening quote */
    }
    if (scan->escaped && p < end) {
        scan->escaped = 0;
        p++;
    }
    while ((p = find_string_mark(p, end)) < end) {
        if (*p == '"')
            return p + 1;
        if (end - p < 2) {
            scan->escaped = 1;
            return NULL;
        }
        p += 2;
    }
    return NULL;
}

/* Byte by byte: for what is left after the blocks, and everywhere without SSE2. */
static const char *run_container_bytes(struct json_value_scan *scan, const char *p, const char *end)
{
    for (; p < end; p++) {
        char c = *p;
        bool escaped = scan->escaped;
        scan->escaped = c == '\\' && !escaped;
        if (c == '"' && !escaped)
            scan->in_string = ~scan->in_string;
        else if (scan->in_string)
            continue;
        else if (c == '{' || c == '[')
            scan->depth++;
        else if ((c == '}' || c == ']') && --scan->depth == 0)
            return p + 1;
    }
    return NULL;
}

#ifdef __SSE2__

struct block_masks {
    uint64_t quotes;
    uint64_t backslashes;
    uint64_t opens;
    uint64_t closes;
};

static inline uint64_t equal_mask(__m128i v, __m128i c)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, c));
}

static inline struct block_masks masks_of(const char *p)
{
    const __m128i case_bit = _mm_set1_epi8(0x20); /* makes '[' and ']' the bytes '{' and '}' */
    struct block_masks masks = {0};
    for (unsigned at = 0; at < BLOCK_BYTES; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(p + at));
        __m128i folded = _mm_or_si128(v, case_bit);
        masks.quotes |= equal_mask(v, _mm_set1_epi8('"')) << at;
        masks.backslashes |= equal_mask(v, _mm_set1_epi8('\\')) << at;
        masks.opens |= equal_mask(folded, _mm_set1_epi8('{')) << at;
        masks.closes |= equal_mask(folded, _mm_set1_epi8('}')) << at;
    }
    return masks;
}

/* The bytes behind an odd run of backslashes. */
static inline uint64_t escaped_mask(uint64_t backslashes, uint64_t *carry)
{
    const uint64_t even_bits = 0x5555555555555555ULL;
    backslashes &= ~*carry;
    uint64_t follows = backslashes << 1 | *carry;
    uint64_t odd_starts = backslashes & ~even_bits & ~follows;
    unsigned long long sum;
    *carry = __builtin_uaddll_overflow(odd_starts, backslashes, &sum);
    return (even_bits ^ (uint64_t)sum << 1) & follows;
}

/* Bit i: whether an odd number of bits 0..i is set, which for quotes means "inside a string". */
static inline uint64_t prefix_xor(uint64_t x)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        x ^= x << shift;
    return x;
}

/* The instruction is not in the x86-64 baseline, and the compiler's replacement is a call. */
static inline size_t count_bits(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return (size_t)(x * 0x0101010101010101ULL >> 56);
}

/* The offset after the bracket that closes the value, or 0 if none in this block does. */
static inline unsigned close_in_block(struct json_value_scan *scan, uint64_t opens, uint64_t closes)
{
    if (!closes) {
        scan->depth += opens ? count_bits(opens) : 0;
        return 0;
    }
    size_t close_count = count_bits(closes);
    if (close_count < scan->depth) { /* the usual case: it cannot end here */
        scan->depth += count_bits(opens) - close_count;
        return 0;
    }
    for (uint64_t brackets = opens | closes; brackets; brackets &= brackets - 1) {
        uint64_t lowest = brackets & -brackets;
        if (opens & lowest)
            scan->depth++;
        else if (--scan->depth == 0)
            return (unsigned)__builtin_ctzll(lowest) + 1;
    }
    return 0;
}

static const char *run_container(struct json_value_scan *scan, const char *p, const char *end)
{
    for (; end - p >= BLOCK_BYTES; p += BLOCK_BYTES) {
        struct block_masks masks = masks_of(p);
        if (masks.backslashes | scan->escaped)
            masks.quotes &= ~escaped_mask(masks.backslashes, &scan->escaped);
        uint64_t inside = prefix_xor(masks.quotes) ^ scan->in_string;
        scan->in_string = 0 - (inside >> 63);
        unsigned ends_at = close_in_block(scan, masks.opens & ~inside, masks.closes & ~inside);
        if (ends_at)
            return p + ends_at;
    }
    return run_container_bytes(scan, p, end);
}

#else

static const char *run_container(struct json_value_scan *scan, const char *p, const char *end)
{
    return run_container_bytes(scan, p, end);
}

#endif

const char *json_value_scan_run(struct json_value_scan *scan, const char *p, const char *end)
{
    switch (scan->kind) {
    case JSON_SCAN_STRING:
        return run_string(scan, p, end);
    case JSON_SCAN_CONTAINER:
        return run_container(scan, p, end);
    default:
        return run_scalar(p, end);
    }
}
