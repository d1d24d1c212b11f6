/*
 * key_file.c - see key_file.h.
 *
 * It touches no file. What it reads was written by us: a key file that is not exactly so is
 * refused whole, for half of the keys would look like a rotation that nobody asked for.
 */
#include "auth/key_file.h"

#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

static int
foreign(char *why, const char *text)
{
    (void)snprintf(why, 256, "%s", text);
    return SB_ERR_FOREIGN;
}

/* An integer field between min and max; false for anything else. */
static bool
get_uint(const json_t *object, const char *name, uint64_t min, uint64_t max, uint64_t *out)
{
    const json_t *v = json_object_get(object, name);
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return *out >= min && *out <= max;
}

static int
parse_key(const json_t *object, struct sb_key *out, char *why)
{
    uint64_t id, created;
    const json_t *master = json_object_get(object, "master");
    size_t bin_len = 0;

    if (!json_is_object(object) || json_object_size(object) != 3 ||
        !get_uint(object, "id", 1, UINT32_MAX - 1, &id) ||
        !get_uint(object, "created", 0, SB_MAX_SAFE_INT, &created) || !json_is_string(master))
        return foreign(why, "a key is not of the form {id, created, master}");
    if (json_string_length(master) != 64 ||
        sodium_hex2bin(out->master, sizeof(out->master), json_string_value(master), 64, NULL,
                       &bin_len, NULL) != 0 ||
        bin_len != sizeof(out->master))
        return foreign(why, "a master key is not 64 hex digits");
    out->id = (uint32_t)id;
    out->created_ms = created;
    return 0;
}

static int
parse_root(const json_t *root, struct sb_keys *keys, char *why)
{
    uint64_t format, next_id;
    const json_t *list = json_object_get(root, "keys");

    if (!json_is_object(root) || !get_uint(root, "format", 1, UINT32_MAX, &format))
        return foreign(why, "it is not a key file");
    if (format != SB_KEY_FILE_FORMAT)
        return foreign(why, "it is of a format that this version does not know");
    if (json_object_size(root) != 3 || !get_uint(root, "next_id", 2, UINT32_MAX, &next_id) ||
        !json_is_array(list))
        return foreign(why, "it is not of the form {format, next_id, keys}");
    size_t n = json_array_size(list);
    if (n == 0 || n > SB_KEYS_MAX)
        return foreign(why, "it holds no key, or more keys than can be");
    uint64_t above = next_id;
    for (size_t i = 0; i < n; i++)
    {
        int rc = parse_key(json_array_get(list, i), &keys->v[i], why);
        if (rc != 0)
            return rc;
        if (keys->v[i].id >= above)
            return foreign(why, "its keys are not newest first, or an id is used twice");
        above = keys->v[i].id;
    }
    keys->n = (uint32_t)n;
    keys->next_id = (uint32_t)next_id;
    return 0;
}

int
sb_key_file_parse(struct sb_bytes text, struct sb_keys *out, char *why)
{
    if (text.len == 0 || text.len > SB_KEY_FILE_MAX)
        return foreign(why, text.len == 0 ? "it is empty" : "it is too long for a key file");
    json_error_t error;
    json_t *root = json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES, &error);
    if (root == NULL)
    {
        /* jansson's own text may quote what it read: only the place is told. */
        (void)snprintf(why, 256, "it is not JSON (line %d)", error.line);
        return SB_ERR_FOREIGN;
    }
    struct sb_keys keys = {0};
    int rc = parse_root(root, &keys, why);
    if (rc == 0)
        *out = keys;
    sodium_memzero(&keys, sizeof(keys));
    json_decref(root);
    return rc;
}

int
sb_key_file_format(const struct sb_keys *keys, struct sb_buf *out)
{
    char line[256];
    char hex[65];
    int n = snprintf(line, sizeof(line),
                     "{\n  \"format\": %d,\n  \"next_id\": %" PRIu32 ",\n  \"keys\": [",
                     SB_KEY_FILE_FORMAT, keys->next_id);
    int rc = sb_buf_append(out, sb_bytes(line, (size_t)n));
    for (uint32_t i = 0; rc == 0 && i < keys->n; i++)
    {
        const struct sb_key *k = &keys->v[i];
        sodium_bin2hex(hex, sizeof(hex), k->master, sizeof(k->master));
        n = snprintf(line, sizeof(line),
                     "%s\n    {\"id\": %" PRIu32 ", \"created\": %" PRIu64 ", \"master\": \"%s\"}",
                     i == 0 ? "" : ",", k->id, k->created_ms, hex);
        rc = sb_buf_append(out, sb_bytes(line, (size_t)n));
    }
    if (rc == 0)
        rc = sb_buf_append(out, SB_LIT("\n  ]\n}\n"));
    sodium_memzero(line, sizeof(line));
    sodium_memzero(hex, sizeof(hex));
    return rc;
}
