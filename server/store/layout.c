/* layout.c - see layout.h: keys, checksums, hashes; the values are in records.c. */
#include "store/layout.h"

#include <sodium.h>

#define XXH_INLINE_ALL /* keys are short: no call for them */
#include <xxhash.h>

#include "store/sum.h"

const char *const sb_table_names[SB_TABLE_COUNT] = {
#define X(id, name) name,
    SB_TABLES(X)
#undef X
};

void
sb_key_name_hash(struct sb_key *k, const struct sb_hash *h)
{
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_1);
    sb_key_hash(k, h);
}

int
sb_key_name(struct sb_key *k, struct sb_bytes tenant, struct sb_bytes name)
{
    if (tenant.len > SB_MAX_NAME || name.len > SB_MAX_NAME)
        return SB_ERR_BAD_NAME;
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_2);
    sb_key_bytes(k, tenant);
    sb_key_u8(k, 0);
    sb_key_bytes(k, name);
    return 0;
}

void
sb_key_thread(struct sb_key *k, uint64_t thread)
{
    sb_key_start(k);
    sb_key_u64(k, thread);
}

int
sb_key_member(struct sb_key *k, uint64_t thread, struct sb_bytes user)
{
    if (user.len > SB_MAX_NAME)
        return SB_ERR_BAD_NAME;
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_1);
    sb_key_u64(k, thread);
    sb_key_bytes(k, user);
    return 0;
}

void
sb_key_reverse(struct sb_key *k, const struct sb_hash *user, uint64_t thread)
{
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_2);
    sb_key_hash(k, user);
    sb_key_u64(k, thread);
}

void
sb_key_row(struct sb_key *k, uint64_t thread, struct sb_pos pos)
{
    sb_key_start(k);
    sb_key_u64(k, thread);
    sb_key_u64(k, pos.at);
    sb_key_u64(k, pos.seq);
}

void
sb_key_seq(struct sb_key *k, uint64_t thread, uint64_t seq)
{
    sb_key_start(k);
    sb_key_u64(k, thread);
    sb_key_u64(k, seq);
}

void
sb_key_past(struct sb_key *k, uint64_t thread, struct sb_pos pos, uint64_t version)
{
    sb_key_row(k, thread, pos);
    sb_key_u64(k, version);
}

void
sb_key_tag(struct sb_key *k, uint64_t thread, const struct sb_hash *tag, struct sb_pos pos)
{
    sb_key_start(k);
    sb_key_u64(k, thread);
    sb_key_hash(k, tag);
    sb_key_u64(k, pos.at);
    sb_key_u64(k, pos.seq);
}

void
sb_key_change(struct sb_key *k, uint64_t version)
{
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_1);
    sb_key_u64(k, version);
}

void
sb_key_thread_change(struct sb_key *k, uint64_t thread, uint64_t version)
{
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_2);
    sb_key_u64(k, thread);
    sb_key_u64(k, version);
}

void
sb_key_source(struct sb_key *k, uint64_t thread, const struct sb_hash *id)
{
    sb_key_start(k);
    sb_key_u64(k, thread);
    sb_key_hash(k, id);
}

void
sb_key_nonce(struct sb_key *k, const struct sb_hash *nonce)
{
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_1);
    sb_key_hash(k, nonce);
}

void
sb_key_nonce_day(struct sb_key *k, uint64_t time_ms, const struct sb_hash *nonce)
{
    sb_key_start(k);
    sb_key_u8(k, SB_KEY_FORM_2);
    sb_be32(k->b + k->len, (uint32_t)(time_ms / 86400000));
    k->len = (uint16_t)(k->len + 4);
    sb_key_hash(k, nonce);
}

void
sb_key_reaction(struct sb_key *k, uint64_t thread, uint64_t seq, const struct sb_hash *emoji,
                const struct sb_hash *user)
{
    sb_key_seq(k, thread, seq);
    sb_key_hash(k, emoji);
    sb_key_hash(k, user);
}

/*
 * Two sums xored instead of one over both: the value stays where it is, nothing is copied.
 * The key's sum is turned by the table's number, so that an entry does not verify in
 * another table.
 */
uint64_t
sb_layout_sum(enum sb_table table, struct sb_bytes key, struct sb_bytes rest)
{
    uint64_t k = XXH3_64bits(key.data, key.len);
    unsigned turn = 1 + (unsigned)table;
    return sb_sum(rest) ^ (k << turn | k >> (64 - turn));
}

void
sb_layout_seal(enum sb_table table, struct sb_bytes key, uint8_t *value, size_t len)
{
    sb_be64(value, sb_layout_sum(table, key, sb_bytes(value + 8, len - 8)));
}

int
sb_layout_verify(enum sb_table table, struct sb_bytes key, struct sb_bytes value)
{
    if (value.len < 8)
        return SB_ERR_CORRUPT;
    uint64_t sum = sb_layout_sum(table, key, sb_bytes(value.data + 8, value.len - 8));
    return sum == sb_get64(value.data) ? 0 : SB_ERR_CORRUPT;
}

void
sb_layout_hash(const uint8_t key[16], struct sb_bytes in, struct sb_hash *out)
{
    crypto_shorthash_siphashx24(out->b, in.data, in.len, key);
}

void
sb_layout_hash2(const uint8_t key[16], struct sb_bytes a, struct sb_bytes b, struct sb_hash *out)
{
    uint8_t both[2 * SB_MAX_NAME + 1];
    size_t a_len = a.len < SB_MAX_NAME ? a.len : SB_MAX_NAME;
    size_t b_len = b.len < SB_MAX_NAME ? b.len : SB_MAX_NAME;
    if (a_len != 0)
        memcpy(both, a.data, a_len);
    both[a_len] = 0;
    if (b_len != 0)
        memcpy(both + a_len + 1, b.data, b_len);
    sb_layout_hash(key, sb_bytes(both, a_len + 1 + b_len), out);
}
