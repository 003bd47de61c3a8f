/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "common/http_head.h"

#include <strings.h>

#define METHOD_MAX 16

static bool is_token_char(char c)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))
        return true;
    return c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL;
}

static bool is_token(const char *s)
{
    if (!*s)
        return false;
    for (; *s; s++)
        if (!is_token_char(*s))
            return false;
    return true;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int http_percent_decode(char *text, bool plus_is_blank)
{
    char *out = text;
    for (const char *in = text; *in; in++) {
        if (*in == '+' && plus_is_blank) {
            *out++ = ' ';
        } else if (*in != '%') {
            *out++ = *in;
        } else {
            const int high = hex_value(in[1]);
            const int low = high < 0 ? -1 : hex_value(in[2]);
            if (low < 0 || (high == 0 && low == 0))
                return -1;
            *out++ = (char)(high << 4 | low);
            in += 2;
        }
    }
    *out = '\0';
    return 0;
}

/* Cuts the next line off; NULL if a CR or LF stands alone. */
static char *next_line(char **cursor)
{
    char *line = *cursor;
    char *end = strpbrk(line, "\r\n");
    if (!end || end[0] != '\r' || end[1] != '\n')
        return NULL;
    *end = '\0';
    *cursor = end + 2;
    return line;
}

static char *trim(char *s)
{
    s += strspn(s, " \t");
    size_t len = strlen(s);
    while (len > 0 && (s[len - 1] == ' ' || s[len - 1] == '\t'))
        s[--len] = '\0';
    return s;
}

/* Origin form ("/path?query"), or absolute form whose authority is of no interest here. */
static int parse_target(char *target, struct http_head *head)
{
    if (strncasecmp(target, "http://", 7) == 0 || strncasecmp(target, "https://", 8) == 0) {
        target = strchr(strstr(target, "//") + 2, '/');
        if (!target)
            return 400;
    }
    if (*target != '/' || strchr(target, '#'))
        return 400;
    char *query = strchr(target, '?');
    if (query)
        *query++ = '\0';
    head->path = target;
    head->query = query;
    return http_percent_decode(target, false) < 0 ? 400 : 0;
}

static int parse_request_line(char *line, struct http_head *head)
{
    char *target = strchr(line, ' ');
    if (!target)
        return 400;
    *target++ = '\0';
    char *version = strchr(target, ' ');
    if (!version)
        return 400;
    *version++ = '\0';
    if (!is_token(line) || strlen(line) > METHOD_MAX)
        return 400;
    head->method = line;
    if (strncmp(version, "HTTP/", 5) != 0)
        return 400;
    if (!str_eq(version, "HTTP/1.1") && !str_eq(version, "HTTP/1.0"))
        return 505;
    head->minor_version = version[7] - '0';
    return parse_target(target, head);
}

static bool has_control_byte(const char *s)
{
    for (; *s; s++)
        if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
            return true;
    return false;
}

static int parse_field(char *line, struct http_head *head)
{
    char *colon = strchr(line, ':');
    if (!colon)
        return 400;
    *colon = '\0';
    if (!is_token(line))
        return 400;
    if (head->field_count == HTTP_HEAD_FIELDS_MAX)
        return 431;
    head->fields[head->field_count++] = (struct http_head_field){.name = line, .value = trim(colon + 1)};
    return 0;
}

static size_t count_fields(const struct http_head *head, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += strcasecmp(head->fields[i].name, name) == 0;
    return count;
}

const char *http_head_field(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->field_count; i++)
        if (strcasecmp(head->fields[i].name, name) == 0)
            return head->fields[i].value;
    return NULL;
}

static int parse_content_length(struct http_head *head)
{
    const char *text = http_head_field(head, "Content-Length");
    if (!text)
        return 0;
    const size_t digits = strspn(text, "0123456789");
    if (count_fields(head, "Content-Length") > 1 || digits == 0 || text[digits])
        return 400;
    if (digits > 15)
        return 413;
    head->content_length = (size_t)strtoull(text, NULL, 10);
    return 0;
}

/* Whether the comma-separated list names the token. */
static bool list_has(const char *list, const char *token)
{
    const size_t len = strlen(token);
    while (list && *list) {
        list += strspn(list, " \t,");
        const size_t item = strcspn(list, " \t,");
        if (item == len && strncasecmp(list, token, len) == 0)
            return true;
        list += item;
    }
    return false;
}

static int interpret_fields(struct http_head *head)
{
    const char *connection = http_head_field(head, "Connection");
    const size_t hosts = count_fields(head, "Host");
    if (hosts > 1 || (hosts == 0 && head->minor_version >= 1))
        return 400;
    if (http_head_field(head, "Transfer-Encoding"))
        return http_head_field(head, "Content-Length") ? 400 : 411;
    head->keep_alive = head->minor_version >= 1 ? !list_has(connection, "close") : list_has(connection, "keep-alive");
    const char *expect = http_head_field(head, "Expect");
    if (expect && strcasecmp(expect, "100-continue") != 0)
        return 417;
    head->expect_continue = expect && head->minor_version >= 1;
    return parse_content_length(head);
}

int http_head_parse(char *text, size_t len, struct http_head *ret)
{
    char *cursor = text;
    char *line;
    *ret = (struct http_head){.method = ""};
    if (strlen(text) != len)
        return 400;
    line = next_line(&cursor);
    if (!line || has_control_byte(line))
        return 400;
    int status = parse_request_line(line, ret);
    while (status == 0) {
        line = next_line(&cursor);
        if (!line || has_control_byte(line))
            return 400;
        if (!*line)
            break;
        status = parse_field(line, ret);
    }
    if (status == 0 && *cursor)
        status = 400;
    return status ? status : interpret_fields(ret);
}
