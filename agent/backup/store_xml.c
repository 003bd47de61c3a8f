/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "agent/backup/store_xml.h"

#include "common/alloc.h"
#include "common/clock.h"

#define HEADER "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
#define NAMESPACE " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""
#define WORD_MAX 256

/* ---- writing ---- */

void store_xml_date(int64_t ms, char out[static STORE_DATE_SIZE])
{
    char seconds[CLOCK_RFC3339_SIZE];

    clock_format_rfc3339(ms, seconds);
    snprintf(out, STORE_DATE_SIZE, "%.19s.%03dZ", seconds, (int)(ms % 1000));
}

static void add_text(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '<' || c == '>' || c == '&' || c == '"' || c == '\'')
            strbuf_addf(out, "&#%d;", c);
        else if (c < 0x20 || c >= 0x7f)
            strbuf_addc(out, '?'); /* only in messages and in what we refuse */
        else
            strbuf_addc(out, (char)c);
    }
}

static void add_element(struct strbuf *out, const char *element, const char *text)
{
    strbuf_addf(out, "<%s>", element);
    add_text(out, text);
    strbuf_addf(out, "</%s>", element);
}

void store_xml_error(struct strbuf *out, const struct store_fault *fault, const char *path)
{
    strbuf_adds(out, HEADER "<Error>");
    add_element(out, "Code", store_code_name(fault->code));
    add_element(out, "Message", fault->message);
    add_element(out, "Resource", path);
    strbuf_adds(out, "</Error>\n");
}

void store_xml_begun(struct strbuf *out, const char *name, const char *id)
{
    strbuf_adds(out, HEADER "<InitiateMultipartUploadResult" NAMESPACE ">");
    add_element(out, "Bucket", STORE_BUCKET);
    add_element(out, "Key", name);
    add_element(out, "UploadId", id);
    strbuf_adds(out, "</InitiateMultipartUploadResult>\n");
}

static void add_etag(struct strbuf *out, const char *etag)
{
    strbuf_addf(out, "<ETag>&quot;%s&quot;</ETag>", etag);
}

void store_xml_completed(struct strbuf *out, const char *name, const char *etag)
{
    strbuf_adds(out, HEADER "<CompleteMultipartUploadResult" NAMESPACE ">");
    add_element(out, "Bucket", STORE_BUCKET);
    add_element(out, "Key", name);
    add_etag(out, etag);
    strbuf_adds(out, "</CompleteMultipartUploadResult>\n");
}

static void add_date(struct strbuf *out, const char *element, int64_t ms)
{
    char date[STORE_DATE_SIZE];

    store_xml_date(ms, date);
    add_element(out, element, date);
}

void store_xml_uploads(struct strbuf *out, const char *prefix, const struct store_upload_entry *entries, size_t count)
{
    strbuf_adds(out, HEADER "<ListMultipartUploadsResult" NAMESPACE ">");
    add_element(out, "Bucket", STORE_BUCKET);
    add_element(out, "Prefix", prefix);
    strbuf_addf(out, "<MaxUploads>%d</MaxUploads><IsTruncated>false</IsTruncated>", STORE_KEYS_MAX);
    for (size_t i = 0; i < count; i++) {
        strbuf_adds(out, "<Upload>");
        add_element(out, "Key", entries[i].name);
        add_element(out, "UploadId", entries[i].id);
        add_date(out, "Initiated", entries[i].begun_ms);
        strbuf_adds(out, "</Upload>");
    }
    strbuf_adds(out, "</ListMultipartUploadsResult>\n");
}

void store_xml_page_init(struct store_xml_page *page)
{
    *page = (struct store_xml_page){.count = 0};
    strbuf_init(&page->entries, STORE_XML_PAGE_MAX);
}

bool store_xml_page_add(void *arg, const struct store_entry *entry)
{
    struct store_xml_page *page = arg;
    struct strbuf *out = &page->entries;

    /* A name in entities and what is around it. */
    if (out->len + STORE_NAME_SIZE + WORD_MAX > STORE_XML_PAGE_MAX)
        return false;
    strbuf_adds(out, entry->is_prefix ? "<CommonPrefixes>" : "<Contents>");
    add_element(out, entry->is_prefix ? "Prefix" : "Key", entry->name);
    if (!entry->is_prefix) {
        add_date(out, "LastModified", entry->modified_ms);
        add_etag(out, entry->etag);
        strbuf_addf(out, "<Size>%llu</Size>", (unsigned long long)entry->bytes);
    }
    strbuf_adds(out, entry->is_prefix ? "</CommonPrefixes>" : "</Contents>");
    snprintf(page->last, sizeof(page->last), "%s", entry->name);
    page->count++;
    return true;
}

void store_xml_page_end(
    struct store_xml_page *page, const struct store_list_query *query, bool truncated, struct strbuf *out)
{
    char token[2 * STORE_NAME_SIZE];

    strbuf_adds(out, HEADER "<ListBucketResult" NAMESPACE ">");
    add_element(out, "Name", STORE_BUCKET);
    add_element(out, "Prefix", query->prefix);
    if (query->delimited)
        add_element(out, "Delimiter", "/");
    strbuf_addf(out, "<MaxKeys>%u</MaxKeys><KeyCount>%u</KeyCount>", query->max_keys, page->count);
    strbuf_addf(out, "<IsTruncated>%s</IsTruncated>", truncated ? "true" : "false");
    if (truncated) {
        store_token_make(page->last, token);
        add_element(out, "NextContinuationToken", token);
    }
    strbuf_add(out, page->entries.buf, page->entries.len);
    strbuf_adds(out, "</ListBucketResult>\n");
}

void store_xml_page_release(struct store_xml_page *page)
{
    strbuf_release(&page->entries);
}

/* ---- reading ---- */

enum token { TOKEN_OPEN, TOKEN_CLOSE, TOKEN_EMPTY, TOKEN_BAD };

struct reader {
    const char *at;
    const char *end;
    char text[WORD_MAX]; /* before the tag, decoded */
    char name[WORD_MAX];
};

static char entity(const char *text, size_t len)
{
    static const struct {
        const char *name;
        char c;
    } entities[] = {{"quot", '"'}, {"#34", '"'}, {"#x22", '"'}, {"apos", '\''}, {"#39", '\''}, {"lt", '<'}, {"gt", '>'},
        {"amp", '&'}};

    for (size_t i = 0; i < ARRAY_LEN(entities); i++) {
        if (strlen(entities[i].name) == len && memcmp(entities[i].name, text, len) == 0)
            return entities[i].c;
    }
    return '\0';
}

static bool read_text(struct reader *reader)
{
    size_t len = 0;

    while (reader->at < reader->end && *reader->at != '<') {
        char c = *reader->at++;
        if (c == '&') {
            const char *semicolon = memchr(reader->at, ';', (size_t)(reader->end - reader->at));
            c = semicolon ? entity(reader->at, (size_t)(semicolon - reader->at)) : '\0';
            reader->at = semicolon ? semicolon + 1 : reader->end;
        }
        if (c == '\0' || len + 1 >= sizeof(reader->text))
            return false;
        bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
        if (!blank || len > 0)
            reader->text[len++] = c;
    }
    while (len > 0 && strchr(" \t\r\n", reader->text[len - 1]))
        len--;
    reader->text[len] = '\0';
    return reader->at < reader->end;
}

/* From '<' to '>'; NULL if there is none. */
static const char *cut_tag(struct reader *reader, const char **ret_close)
{
    if (!read_text(reader))
        return NULL;
    const char *close = memchr(reader->at, '>', (size_t)(reader->end - reader->at));
    const char *begin = reader->at + 1;
    if (!close)
        return NULL;
    reader->at = close + 1;
    *ret_close = close;
    return begin;
}

/* The next tag and the text before it. Attributes are passed over; so is the XML declaration. Nothing else of XML is taken. */
static enum token read_tag(struct reader *reader)
{
    const char *close = NULL;
    const char *begin = cut_tag(reader, &close);
    size_t len = 0;

    while (begin && *begin == '?' && close[-1] == '?' && !*reader->text)
        begin = cut_tag(reader, &close);
    if (!begin)
        return TOKEN_BAD;
    bool closing = *begin == '/';
    bool empty = !closing && close[-1] == '/';
    begin += closing;
    while (begin + len < close && !strchr(" \t\r\n/", begin[len]))
        len++;
    if (len == 0 || len >= sizeof(reader->name) || *begin == '!' || *begin == '?')
        return TOKEN_BAD;
    snprintf(reader->name, sizeof(reader->name), "%.*s", (int)len, begin);
    return closing ? TOKEN_CLOSE : empty ? TOKEN_EMPTY : TOKEN_OPEN;
}

static void take_etag(const char *text, struct store_part *part)
{
    size_t len = strlen(text);

    if (len >= 2 && text[0] == '"' && text[len - 1] == '"') {
        text++;
        len -= 2;
    }
    snprintf(part->etag, sizeof(part->etag), "%.*s", len < sizeof(part->etag) ? (int)len : 0, text);
}

static bool take_number(const char *text, struct store_part *part)
{
    size_t len = strlen(text);

    if (len == 0 || len > 5 || strspn(text, "0123456789") != len)
        return false;
    part->number = (int)strtol(text, NULL, 10);
    return part->number >= 1 && part->number <= STORE_PARTS_MAX;
}

/* Behind <Part>. */
static bool read_part(struct reader *reader, struct store_part *ret)
{
    struct store_part part = {0};
    bool tagged = false;
    enum token token;

    while ((token = read_tag(reader)) == TOKEN_OPEN || token == TOKEN_EMPTY) {
        char element[WORD_MAX];
        snprintf(element, sizeof(element), "%s", reader->name);
        if (*reader->text || (token == TOKEN_OPEN && read_tag(reader) != TOKEN_CLOSE) || !str_eq(reader->name, element))
            return false;
        if (token == TOKEN_OPEN && str_eq(element, "PartNumber") && !take_number(reader->text, &part))
            return false;
        if (token == TOKEN_OPEN && str_eq(element, "ETag")) {
            take_etag(reader->text, &part);
            tagged = true;
        }
    }
    *ret = part;
    return token == TOKEN_CLOSE && str_eq(reader->name, "Part") && !*reader->text && part.number > 0 && tagged;
}

static bool read_list(struct reader *reader, struct store_part *parts, size_t *ret_count)
{
    size_t count = 0;
    enum token token = read_tag(reader);

    if (token != TOKEN_OPEN || !str_eq(reader->name, "CompleteMultipartUpload") || *reader->text)
        return false;
    while ((token = read_tag(reader)) == TOKEN_OPEN && str_eq(reader->name, "Part") && !*reader->text) {
        if (count == STORE_PARTS_MAX || !read_part(reader, &parts[count]))
            return false;
        count++;
    }
    *ret_count = count;
    return token == TOKEN_CLOSE && str_eq(reader->name, "CompleteMultipartUpload") && !*reader->text && count > 0;
}

int store_xml_read_parts(
    const char *text, size_t len, struct store_part **ret, size_t *ret_count, struct store_fault *fault)
{
    struct reader reader = {.at = text, .end = text + len};
    _cleanup_(freep) struct store_part *parts = xnew_array(struct store_part, STORE_PARTS_MAX);
    size_t count;

    if (!read_list(&reader, parts, &count))
        return store_fault_set(fault, STORE_MALFORMED_XML, "the body is not a list of parts");
    while (reader.at < reader.end && strchr(" \t\r\n", *reader.at) && *reader.at)
        reader.at++;
    if (reader.at < reader.end)
        return store_fault_set(fault, STORE_MALFORMED_XML, "there is something behind the list of parts");
    for (size_t i = 1; i < count; i++) {
        if (parts[i].number <= parts[i - 1].number)
            return store_fault_set(
                fault, STORE_INVALID_PART_ORDER, "part %d stands behind part %d", parts[i].number, parts[i - 1].number);
    }
    *ret = steal_ptr(parts);
    *ret_count = count;
    return 0;
}
