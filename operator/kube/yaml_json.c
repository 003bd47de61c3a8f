/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base.h"

#include "operator/kube/yaml_json.h"

#include <yaml.h>

#include "common/alloc.h"

struct conversion {
    yaml_document_t *document;
    size_t nodes;
    struct error *err;
};

static json_t *convert(struct conversion *conv, int node_id, int depth);

static bool scalar_is(const yaml_node_t *node, const char *const *words)
{
    const char *text = (const char *)node->data.scalar.value;
    for (; *words; words++) {
        if (str_eq(text, *words))
            return true;
    }
    return false;
}

static json_t *convert_scalar(struct conversion *conv, const yaml_node_t *node)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (scalar_is(node, nulls))
            return json_null();
        if (scalar_is(node, trues))
            return json_true();
        if (scalar_is(node, falses))
            return json_false();
    }
    json_t *string = json_stringn((const char *)node->data.scalar.value, node->data.scalar.length);
    if (!string || memchr(node->data.scalar.value, '\0', node->data.scalar.length)) {
        json_decref(string);
        error_set(conv->err, ERROR_INVALID, "line %zu: not a text", node->start_mark.line + 1);
        return NULL;
    }
    return string;
}

static json_t *convert_sequence(struct conversion *conv, const yaml_node_t *node, int depth)
{
    json_t *array = json_array();
    for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++) {
        if (json_array_append_new(array, convert(conv, *item, depth + 1)) < 0) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static int convert_pair(struct conversion *conv, const yaml_node_pair_t *pair, json_t *object, int depth)
{
    const yaml_node_t *key = yaml_document_get_node(conv->document, pair->key);
    if (!key || key->type != YAML_SCALAR_NODE)
        return error_set(conv->err, ERROR_INVALID, "line %zu: a key is not a text", key ? key->start_mark.line + 1 : 0);
    const char *name = (const char *)key->data.scalar.value;
    if (json_object_get(object, name))
        return error_set(conv->err, ERROR_INVALID, "line %zu: a key stands there twice", key->start_mark.line + 1);
    json_t *value = convert(conv, pair->value, depth + 1);
    if (!value)
        return -1;
    if (json_object_set_new(object, name, value) < 0)
        return error_set(conv->err, ERROR_INVALID, "line %zu: a key is not UTF-8", key->start_mark.line + 1);
    return 0;
}

static json_t *convert_mapping(struct conversion *conv, const yaml_node_t *node, int depth)
{
    json_t *object = json_object();
    for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        if (convert_pair(conv, pair, object, depth) < 0) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

static json_t *convert(struct conversion *conv, int node_id, int depth)
{
    const yaml_node_t *node = yaml_document_get_node(conv->document, node_id);
    if (!node || depth > YAML_DEPTH_MAX || ++conv->nodes > YAML_NODES_MAX) {
        error_set(conv->err, ERROR_TOO_LARGE, "more than %d nodes or %d levels", YAML_NODES_MAX, YAML_DEPTH_MAX);
        return NULL;
    }
    switch (node->type) {
    case YAML_SCALAR_NODE:
        return convert_scalar(conv, node);
    case YAML_SEQUENCE_NODE:
        return convert_sequence(conv, node, depth);
    case YAML_MAPPING_NODE:
        return convert_mapping(conv, node, depth);
    default:
        error_set(conv->err, ERROR_INVALID, "line %zu: a node of unknown type", node->start_mark.line + 1);
        return NULL;
    }
}

static json_t *convert_document(yaml_parser_t *parser, struct error *err)
{
    yaml_document_t document;
    if (!yaml_parser_load(parser, &document)) {
        error_set(err, ERROR_INVALID, "line %zu: %s", parser->problem_mark.line + 1, str_or_empty(parser->problem));
        return NULL;
    }
    json_t *root = NULL;
    if (yaml_document_get_root_node(&document)) {
        struct conversion conv = {.document = &document, .err = err};
        root = convert(&conv, 1, 0);
    } else {
        error_set(err, ERROR_INVALID, "empty");
    }
    yaml_document_delete(&document);
    return root;
}

json_t *yaml_to_json(const char *yaml, size_t len, struct error *err)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        abort();
    yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, len);
    json_t *root = convert_document(&parser, err);
    yaml_parser_delete(&parser);
    return root;
}
