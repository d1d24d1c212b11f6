/* check_rest.c - verifies past, tags, changes, sources, nonces, reactions. See check.h. */
#include "store/check.h"

static int
check_past(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_row row;
    struct sb_bytes now;
    struct sb_key key;
    if (k.len != SB_PAST_KEY_LEN || sb_row_decode(SB_TABLE_PAST, k, value, &row) != 0)
    {
        sb_check_tell(c, &c->report->bad_checksums, "a former state of a message is damaged");
        return 0;
    }
    c->report->past++;
    row.pos = sb_pos_at(k.data + 8);
    uint64_t thread = sb_get64(k.data);
    sb_key_row(&key, thread, row.pos);
    int rc = sb_kv_get(c->kv, SB_TABLE_MESSAGES, &key, &now);
    if (rc == SB_ERR_NOT_FOUND)
    {
        sb_check_tell(c, &c->report->index_extra,
                      "thread %llu, seq %llu: a former state has no message",
                      (unsigned long long)thread, (unsigned long long)row.pos.seq);
        return 0;
    }
    return rc == 0 ? sb_check_postings(c, thread, &row) : rc;
}

static int
check_posting(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_key key;
    struct sb_bytes row;
    c->report->postings++;
    if (k.len != SB_TAG_KEY_LEN || value.len != 8)
    {
        sb_check_tell(c, &c->report->index_extra, "a tag's entry is damaged");
        return 0;
    }
    struct sb_pos pos = sb_pos_at(k.data + 24);
    sb_key_row(&key, sb_get64(k.data), pos);
    int rc = sb_kv_get(c->kv, SB_TABLE_MESSAGES, &key, &row);
    if (rc == SB_ERR_NOT_FOUND ||
        (rc == 0 && row.len >= SB_ROW_HEAD && sb_get64(row.data + 16) != sb_get64(value.data)))
    {
        sb_check_tell(c, &c->report->index_extra,
                      "thread %llu, seq %llu: a tag's entry has no such message",
                      (unsigned long long)sb_get64(k.data), (unsigned long long)pos.seq);
        rc = 0;
    }
    return rc;
}

static int
check_change(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_change change;
    struct sb_key key;
    bool there = true;
    int rc = 0;
    if (k.len == 17 && k.data[0] == SB_KEY_FORM_2)
    {
        sb_key_change(&key, sb_get64(k.data + 9));
        rc = sb_check_has(c, SB_TABLE_CHANGES, &key, &there);
        if (rc == 0 && (!there || value.len != SB_THREAD_CHANGE_LEN))
        {
            sb_check_tell(c, &c->report->index_extra, "thread %llu: version %llu has no change",
                          (unsigned long long)sb_get64(k.data + 1),
                          (unsigned long long)sb_get64(k.data + 9));
        }
        return rc;
    }
    c->report->changes++;
    if (sb_change_decode(k, value, &change) != 0 || change.version > c->s->committed.last_version)
    {
        sb_check_tell(c, &c->report->bad_checksums, "a change's record is damaged");
        return 0;
    }
    if (change.kind != SB_CHANGE_POST)
    {
        sb_key_thread_change(&key, change.thread, change.version);
        rc = sb_check_has(c, SB_TABLE_CHANGES, &key, &there);
    }
    if (rc == 0 && !there)
    {
        sb_check_tell(c, &c->report->index_missing,
                      "thread %llu: its entry of version %llu is gone",
                      (unsigned long long)change.thread, (unsigned long long)change.version);
    }
    return rc;
}

static int
check_source(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_pos pos;
    c->report->sources++;
    int rc = SB_ERR_NOT_FOUND;
    if (k.len == 24 && value.len == SB_SOURCE_LEN)
        rc = sb_store_seq_find(&c->s->reader.head, sb_get64(k.data), sb_get64(value.data), &pos);
    if (rc == SB_ERR_NOT_FOUND)
    {
        sb_check_tell(c, &c->report->index_extra, "a source's entry has no message");
        return 0;
    }
    return rc == SB_ERR_CORRUPT ? 0 : rc;
}

/* Both forms of a nonce's entry hold its hash; the day comes from the first one's time. */
static int
check_nonce(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_nonce n;
    struct sb_hash hash;
    struct sb_key key;
    struct sb_bytes first;
    bool there = false;
    int rc;
    if (k.len == 21 && k.data[0] == SB_KEY_FORM_2)
    {
        memcpy(hash.b, k.data + 5, sizeof(hash));
        sb_key_nonce(&key, &hash);
        rc = sb_kv_get(c->kv, SB_TABLE_NONCES, &key, &first);
        there = rc == 0 && sb_nonce_decode(first, &n) == 0 &&
                sb_get32(k.data + 1) == (uint32_t)(n.time_ms / 86400000);
        if (!there && (rc == 0 || rc == SB_ERR_NOT_FOUND))
            sb_check_tell(c, &c->report->index_extra, "a nonce's entry by day has no nonce");
        return rc == SB_ERR_NOT_FOUND ? 0 : rc;
    }
    c->report->nonces++;
    if (k.len != 17 || sb_nonce_decode(value, &n) != 0)
    {
        sb_check_tell(c, &c->report->bad_checksums, "a nonce's entry is damaged");
        return 0;
    }
    memcpy(hash.b, k.data + 1, sizeof(hash));
    sb_key_nonce_day(&key, n.time_ms, &hash);
    rc = sb_check_has(c, SB_TABLE_NONCES, &key, &there);
    if (rc == 0 && !there)
        sb_check_tell(c, &c->report->index_missing, "a nonce's entry by day is missing");
    return rc;
}

static int
check_reaction(struct sb_check *c, struct sb_bytes k, struct sb_bytes value)
{
    struct sb_pos pos;
    c->report->reactions++;
    int rc = SB_ERR_NOT_FOUND;
    if (k.len == 48 && value.len >= 9 && value.len >= 9 + (size_t)value.data[8])
        rc = sb_store_seq_find(&c->s->reader.head, sb_get64(k.data), sb_get64(k.data + 8), &pos);
    if (rc == SB_ERR_NOT_FOUND)
    {
        sb_check_tell(c, &c->report->index_extra, "a reaction has no message");
        return 0;
    }
    return rc == SB_ERR_CORRUPT ? 0 : rc;
}

int
sb_check_rest(struct sb_check *c)
{
    int rc = sb_check_table(c, SB_TABLE_PAST, check_past);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_TAGS, check_posting);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_CHANGES, check_change);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_SOURCES, check_source);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_NONCES, check_nonce);
    if (rc == 0)
        rc = sb_check_table(c, SB_TABLE_REACTIONS, check_reaction);
    return rc;
}
