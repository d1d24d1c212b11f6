/* kv.c - the moves that are the same for every map. See kv.h. */
#include "store/kv.h"

int
sb_kv_seek(struct sb_kv_cursor *c, const struct sb_key *key, struct sb_bytes *key_out,
           struct sb_bytes *value)
{
    *key_out = sb_key_view(key);
    return sb_kv_move(c, SB_KV_SEEK, key_out, value);
}

int
sb_kv_after(struct sb_kv_cursor *c, const struct sb_key *key, struct sb_bytes *key_out,
            struct sb_bytes *value)
{
    int rc = sb_kv_seek(c, key, key_out, value);
    if (rc != 0 || !sb_bytes_eq(*key_out, sb_key_view(key)))
        return rc;
    return sb_kv_move(c, SB_KV_NEXT, key_out, value);
}

int
sb_kv_before(struct sb_kv_cursor *c, const struct sb_key *key, struct sb_bytes *key_out,
             struct sb_bytes *value)
{
    int rc = sb_kv_seek(c, key, key_out, value);
    if (rc == 0)
        return sb_kv_move(c, SB_KV_PREV, key_out, value);
    if (rc == SB_ERR_NOT_FOUND)
        return sb_kv_move(c, SB_KV_LAST, key_out, value);
    return rc;
}
