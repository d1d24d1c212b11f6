/* records.c - the values of layout.h, encoded and decoded. Nothing here reads a store. */
#include "store/layout.h"

void
sb_row_encode(enum sb_table table, struct sb_bytes key, const struct sb_row *r, uint8_t *place)
{
    place[8] = SB_ROW_FORMAT;
    place[9] = (uint8_t)r->flags;
    sb_be16(place + 10, (uint16_t)r->n_tags);
    sb_be32(place + 12, (uint32_t)r->body.len);
    sb_be64(place + 16, r->created);
    sb_be64(place + 24, r->changed);
    if (r->body.len != 0)
        memcpy(place + SB_ROW_HEAD, r->body.data, r->body.len);
    if (r->n_tags != 0)
        memcpy(place + SB_ROW_HEAD + r->body.len, r->tags, sizeof(struct sb_hash) * r->n_tags);
    sb_layout_seal(table, key, place, sb_row_size(r));
}

int
sb_row_decode(enum sb_table table, struct sb_bytes key, struct sb_bytes value, struct sb_row *out)
{
    int rc = sb_layout_verify(table, key, value);
    if (rc != 0)
        return rc;
    if (value.len < SB_ROW_HEAD || value.data[8] != SB_ROW_FORMAT)
        return SB_ERR_CORRUPT;
    size_t n_tags = sb_get16(value.data + 10);
    size_t body = sb_get32(value.data + 12);
    if (value.len - SB_ROW_HEAD != body + sizeof(struct sb_hash) * n_tags)
        return SB_ERR_CORRUPT;
    out->flags = value.data[9];
    out->n_tags = (uint32_t)n_tags;
    out->created = sb_get64(value.data + 16);
    out->changed = sb_get64(value.data + 24);
    out->body = sb_bytes(value.data + SB_ROW_HEAD, body);
    out->tags = (const struct sb_hash *)(value.data + SB_ROW_HEAD + body);
    return 0;
}

size_t
sb_thread_encode(struct sb_bytes key, const struct sb_thread *t,
                 const struct sb_thread_extra *extra, uint8_t *place)
{
    place[8] = (uint8_t)t->history;
    place[9] = (uint8_t)t->access;
    sb_be16(place + 10, 0);
    sb_be32(place + 12, extra->keep_days);
    sb_be64(place + 16, t->created);
    sb_be64(place + 24, t->next_seq);
    sb_be64(place + 32, t->newest_at);
    sb_be64(place + 40, t->floor.at);
    sb_be64(place + 48, t->floor.seq);
    const struct sb_bytes strings[3] = {t->tenant, t->name, t->title};
    size_t len = SB_THREAD_HEAD;
    for (size_t i = 0; i < 3; i++)
    {
        sb_be16(place + 56 + 2 * i, (uint16_t)strings[i].len);
        if (strings[i].len != 0)
            memcpy(place + len, strings[i].data, strings[i].len);
        len += strings[i].len;
    }
    sb_layout_seal(SB_TABLE_THREADS, key, place, len);
    return len;
}

int
sb_thread_decode(struct sb_bytes key, struct sb_bytes value, struct sb_thread *out,
                 struct sb_thread_extra *extra)
{
    int rc = sb_layout_verify(SB_TABLE_THREADS, key, value);
    if (rc != 0)
        return rc;
    const uint8_t *p = value.data;
    if (key.len != 8 || value.len < SB_THREAD_HEAD)
        return SB_ERR_CORRUPT;
    size_t tenant = sb_get16(p + 56), name = sb_get16(p + 58), title = sb_get16(p + 60);
    if (value.len - SB_THREAD_HEAD != tenant + name + title)
        return SB_ERR_CORRUPT;
    const uint8_t *s = p + SB_THREAD_HEAD;
    *out = (struct sb_thread){
        .id = sb_get64(key.data),
        .history = p[8],
        .access = p[9],
        .created = sb_get64(p + 16),
        .next_seq = sb_get64(p + 24),
        .newest_at = sb_get64(p + 32),
        .floor = sb_pos_at(p + 40),
        .tenant = sb_bytes(s, tenant),
        .name = sb_bytes(s + tenant, name),
        .title = sb_bytes(s + tenant + name, title),
    };
    if (extra != NULL)
        extra->keep_days = sb_get32(p + 12);
    return 0;
}

void
sb_member_encode(struct sb_bytes key, const struct sb_member *m, uint8_t *place)
{
    place[8] = (uint8_t)m->role;
    sb_be64(place + 9, m->join.at);
    sb_be64(place + 17, m->join.seq);
    sb_be64(place + 25, m->join_version);
    sb_layout_seal(SB_TABLE_MEMBERS, key, place, SB_MEMBER_LEN);
}

int
sb_member_decode(struct sb_bytes key, struct sb_bytes value, struct sb_member *out)
{
    int rc = sb_layout_verify(SB_TABLE_MEMBERS, key, value);
    if (rc != 0)
        return rc;
    if (value.len != SB_MEMBER_LEN)
        return SB_ERR_CORRUPT;
    out->role = value.data[8];
    out->join = sb_pos_at(value.data + 9);
    out->join_version = sb_get64(value.data + 25);
    return 0;
}

void
sb_seq_encode(struct sb_bytes key, uint64_t at, uint8_t *place)
{
    sb_be64(place + 8, at);
    sb_layout_seal(SB_TABLE_BY_SEQ, key, place, SB_SEQ_LEN);
}

int
sb_seq_decode(struct sb_bytes key, struct sb_bytes value, uint64_t *at)
{
    int rc = sb_layout_verify(SB_TABLE_BY_SEQ, key, value);
    if (rc != 0)
        return rc;
    if (value.len != SB_SEQ_LEN)
        return SB_ERR_CORRUPT;
    *at = sb_get64(value.data + 8);
    return 0;
}

size_t
sb_change_size(const struct sb_change *c)
{
    return SB_CHANGE_HEAD + (c->has_nonce ? sizeof(c->nonce) : 0) + c->payload.len;
}

void
sb_change_encode(const struct sb_change *c, uint8_t *place)
{
    sb_be64(place, c->thread);
    sb_be64(place + 8, c->pos.at);
    sb_be64(place + 16, c->pos.seq);
    sb_be64(place + 24, c->time_ms);
    place[32] = (uint8_t)c->kind;
    place[33] = c->has_nonce;
    uint8_t *p = place + SB_CHANGE_HEAD;
    if (c->has_nonce)
    {
        memcpy(p, c->nonce.b, sizeof(c->nonce));
        p += sizeof(c->nonce);
    }
    if (c->payload.len != 0)
        memcpy(p, c->payload.data, c->payload.len);
}

int
sb_change_decode(struct sb_bytes key, struct sb_bytes value, struct sb_change *out)
{
    const uint8_t *p = value.data;
    if (key.len != 9 || value.len < SB_CHANGE_HEAD || p[33] > 1)
        return SB_ERR_CORRUPT;
    size_t head = SB_CHANGE_HEAD + (p[33] != 0 ? sizeof(out->nonce) : 0);
    if (value.len < head)
        return SB_ERR_CORRUPT;
    *out = (struct sb_change){
        .version = sb_get64(key.data + 1),
        .thread = sb_get64(p),
        .pos = sb_pos_at(p + 8),
        .time_ms = sb_get64(p + 24),
        .kind = p[32],
        .has_nonce = p[33] != 0,
        .payload = sb_bytes(p + head, value.len - head),
    };
    if (out->has_nonce)
        memcpy(out->nonce.b, p + SB_CHANGE_HEAD, sizeof(out->nonce));
    return 0;
}

void
sb_nonce_encode(const struct sb_nonce *n, uint8_t *place)
{
    sb_be64(place, n->seq);
    sb_be64(place + 8, n->at);
    sb_be64(place + 16, n->version);
    sb_be64(place + 24, n->time_ms);
}

int
sb_nonce_decode(struct sb_bytes value, struct sb_nonce *out)
{
    if (value.len != SB_NONCE_LEN)
        return SB_ERR_CORRUPT;
    const uint8_t *p = value.data;
    *out = (struct sb_nonce){
        .seq = sb_get64(p),
        .at = sb_get64(p + 8),
        .version = sb_get64(p + 16),
        .time_ms = sb_get64(p + 24),
    };
    return 0;
}

void
sb_state_encode(const struct sb_state *s, uint8_t *place)
{
    const uint64_t v[] = {s->last_version, s->last_time,     s->derived,     s->indexed,
                          s->horizon,      s->changes_floor, s->last_thread, s->analyser,
                          s->reserved[0],  s->reserved[1]};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        sb_be64(place + 8 + 8 * i, v[i]);
    sb_layout_seal(SB_TABLE_META, SB_LIT("state"), place, SB_STATE_LEN);
}

int
sb_state_decode(struct sb_bytes value, struct sb_state *out)
{
    int rc = sb_layout_verify(SB_TABLE_META, SB_LIT("state"), value);
    if (rc != 0 || value.len != SB_STATE_LEN)
        return SB_ERR_CORRUPT;
    uint64_t *const v[] = {&out->last_version, &out->last_time, &out->derived,
                           &out->indexed,      &out->horizon,   &out->changes_floor,
                           &out->last_thread,  &out->analyser,  &out->reserved[0],
                           &out->reserved[1]};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
        *v[i] = sb_get64(value.data + 8 + 8 * i);
    return 0;
}

void
sb_identity_encode(const struct sb_identity *i, uint8_t *place)
{
    memcpy(place + 8, i->id, 16);
    sb_be64(place + 24, i->epoch);
    memcpy(place + 32, i->hash_key, 16);
    sb_be64(place + 48, i->created_ms);
    sb_layout_seal(SB_TABLE_META, SB_LIT("identity"), place, SB_IDENTITY_LEN);
}

int
sb_identity_decode(struct sb_bytes value, struct sb_identity *out)
{
    int rc = sb_layout_verify(SB_TABLE_META, SB_LIT("identity"), value);
    if (rc != 0 || value.len != SB_IDENTITY_LEN)
        return SB_ERR_CORRUPT;
    memcpy(out->id, value.data + 8, 16);
    out->epoch = sb_get64(value.data + 24);
    memcpy(out->hash_key, value.data + 32, 16);
    out->created_ms = sb_get64(value.data + 48);
    return 0;
}
