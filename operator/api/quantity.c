/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/api/quantity.h"

#define QUANTITY_DIGITS_MAX 18
#define QUANTITY_VALUE_MAX (INT64_C(1) << 62)

struct suffix {
    const char *text;
    int power_of_ten;
    int power_of_two;
};

static const struct suffix suffixes[] = {
    {"", 0, 0},
    {"n", -9, 0},
    {"u", -6, 0},
    {"m", -3, 0},
    {"k", 3, 0},
    {"M", 6, 0},
    {"G", 9, 0},
    {"T", 12, 0},
    {"P", 15, 0},
    {"E", 18, 0},
    {"Ki", 0, 10},
    {"Mi", 0, 20},
    {"Gi", 0, 30},
    {"Ti", 0, 40},
    {"Pi", 0, 50},
    {"Ei", 0, 60},
};

/* Digits with at most one point; *ret_scale is how many stood behind it. Returns where they end, NULL if there are
 * none. */
static const char *read_digits(const char *text, uint64_t *ret_mantissa, int *ret_scale)
{
    uint64_t mantissa = 0;
    int digits = 0, scale = 0;
    bool point = false;
    for (;; text++) {
        if (*text == '.' && !point) {
            point = true;
            continue;
        }
        if (*text < '0' || *text > '9')
            break;
        digits++;
        if (mantissa == 0 && *text == '0' && !point)
            continue;
        mantissa = mantissa * 10 + (uint64_t)(*text - '0');
        scale += point;
        if (scale > QUANTITY_DIGITS_MAX || mantissa > UINT64_C(1000000000000000000))
            return NULL;
    }
    *ret_mantissa = mantissa;
    *ret_scale = scale;
    return digits > 0 ? text : NULL;
}

/* "e3", "E-6": a decimal exponent. "E" alone is the suffix exa. */
static bool read_exponent(const char *text, int *ret_power)
{
    if ((*text != 'e' && *text != 'E') || text[1] == '\0')
        return false;
    char *end;
    long power = strtol(text + 1, &end, 10);
    if (*end != '\0' || power < -QUANTITY_DIGITS_MAX || power > QUANTITY_DIGITS_MAX)
        return false;
    *ret_power = (int)power;
    return true;
}

static bool read_suffix(const char *text, struct suffix *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
        if (strcmp(text, suffixes[i].text) == 0) {
            *ret = suffixes[i];
            return true;
        }
    }
    *ret = (struct suffix){.text = text};
    return read_exponent(text, &ret->power_of_ten);
}

int quantity_parse(const char *text, int64_t *ret_value)
{
    uint64_t mantissa;
    int scale;
    struct suffix suffix;
    const char *end = read_digits(text + (*text == '+'), &mantissa, &scale);
    if (!end || !read_suffix(end, &suffix))
        return -1;
    /* The mantissa is below 2^60 and the factor at most 2^60 or 10^18: 120 bits are enough. */
    unsigned __int128 value = (unsigned __int128)mantissa << suffix.power_of_two;
    unsigned __int128 divisor = 1;
    int power = suffix.power_of_ten - scale;
    for (; power > 0; power--)
        value *= 10;
    for (; power < 0 && divisor < value; power++)
        divisor *= 10;
    value = (value + divisor - 1) / divisor;
    if (value > QUANTITY_VALUE_MAX)
        return -1;
    *ret_value = (int64_t)value;
    return 0;
}

void quantity_print(int64_t value, char out[static QUANTITY_TEXT_SIZE])
{
    static const char prefixes[] = "kMGTPE";
    static const struct {
        int64_t step;
        const char *mark;
    } kinds[] = {{1024, "i"}, {1000, ""}};
    snprintf(out, QUANTITY_TEXT_SIZE, "%lld", (long long)value);
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++) {
        int power = 0;
        int64_t rest = value;
        for (; rest > 0 && rest % kinds[kind].step == 0 && prefixes[power] != '\0'; power++)
            rest /= kinds[kind].step;
        if (power == 0)
            continue;
        char prefix = kind == 0 && power == 1 ? 'K' : prefixes[power - 1];
        snprintf(out, QUANTITY_TEXT_SIZE, "%lld%c%s", (long long)rest, prefix, kinds[kind].mark);
        return;
    }
}

int quantity_from_json(const json_t *value, int64_t *ret_value)
{
    if (json_is_string(value))
        return quantity_parse(json_string_value(value), ret_value);
    double number = json_is_number(value) ? json_number_value(value) : -1;
    if (number < 0 || number > (double)QUANTITY_VALUE_MAX)
        return -1;
    int64_t whole = (int64_t)number;
    *ret_value = whole + ((double)whole < number);
    return 0;
}
