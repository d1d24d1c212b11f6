/*
 * sha256.c - see sha256.h.
 *
 * Written out here because this layer has no crypto library and needs no secrecy: only a
 * digest that nobody can make collide, so that no chat line can stand in for another.
 */
#include "import/sha256.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t
rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void
compress(uint32_t s[8], const uint8_t *p)
{
    uint32_t w[64];
    uint32_t v[8];
    for (unsigned i = 0; i < 16; i++)
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (unsigned i = 16; i < 64; i++)
    {
        uint32_t a = w[i - 15];
        uint32_t b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    memcpy(v, s, sizeof(v));
    for (unsigned i = 0; i < 64; i++)
    {
        uint32_t e = v[4];
        uint32_t a = v[0];
        uint32_t t1 = v[7] + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) +
                      ((e & v[5]) ^ (~e & v[6])) + round_constants[i] + w[i];
        uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) +
                      ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += t1;
        v[0] = t1 + t2;
    }
    for (unsigned i = 0; i < 8; i++)
        s[i] += v[i];
}

void
sb_sha256_init(struct sb_sha256 *h)
{
    *h = (struct sb_sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                      0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void
sb_sha256_add(struct sb_sha256 *h, struct sb_bytes in)
{
    while (in.len != 0)
    {
        size_t have = (size_t)(h->len % 64);
        size_t take = 64 - have < in.len ? 64 - have : in.len;
        memcpy(h->block + have, in.data, take);
        h->len += take;
        in = sb_bytes(in.data + take, in.len - take);
        if (have + take == 64)
            compress(h->state, h->block);
    }
}

void
sb_sha256_end(struct sb_sha256 *h, uint8_t out[32])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = h->len * 8;
    uint8_t tail[8];
    size_t have = (size_t)(h->len % 64);
    sb_sha256_add(h, sb_bytes(padding, have < 56 ? 56 - have : 120 - have));
    for (unsigned i = 0; i < 8; i++)
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    sb_sha256_add(h, sb_bytes(tail, sizeof(tail)));
    for (unsigned i = 0; i < 32; i++)
        out[i] = (uint8_t)(h->state[i / 4] >> (24 - 8 * (i % 4)));
}
