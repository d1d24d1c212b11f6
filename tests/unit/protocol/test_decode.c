/*
 * test_decode.c - requests: what each operation takes and what it refuses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "frame_kit.h"
#include "protocol/decode.h"

static struct sb_decoder *decoder;
static struct sb_bytes frame; /* of the request that was decoded last */
static struct sb_request req;
static struct sb_decode_error err;

static int
setup(void **state)
{
    (void)state;
    decoder = sb_decoder_create();
    return decoder == NULL;
}

static int
teardown(void **state)
{
    (void)state;
    sb_decoder_destroy(decoder);
    sb_decoder_destroy(NULL);
    kit_free(frame);
    return 0;
}

static enum sb_decode_status
decode(const char *json)
{
    kit_free(frame);
    frame = kit_pack(json);
    err = (struct sb_decode_error){SB_CODE_INTERNAL, NULL};
    return sb_request_decode(decoder, frame, &req, &err);
}

static void
accept(const char *json)
{
    if (decode(json) != SB_DECODE_OK)
        fail_msg("refused: %s: %s", json, err.message == NULL ? "malformed" : err.message);
}

/* Refused with this code and a text that begins with this. */
static void
refuse(const char *json, enum sb_code code, const char *text)
{
    enum sb_decode_status s = decode(json);
    if (s != SB_DECODE_BAD)
        fail_msg("status %d: %s", (int)s, json);
    if (err.code != code || strncmp(err.message, text, strlen(text)) != 0)
        fail_msg("%s: %s: \"%s\", expected \"%s\"", json, sb_code_name(err.code), err.message,
                 text);
}

static void
bad(const char *json, const char *text)
{
    refuse(json, SB_CODE_BAD_REQUEST, text);
}

#define assert_view(view, text) assert_true(sb_bytes_eq(view, SB_LIT(text)))

static void
test_envelope(void **state)
{
    (void)state;
    bad("{}", "id ");
    assert_false(req.id.set);
    assert_int_equal(req.op, SB_OP_UNKNOWN);
    bad("{'op':'threads'}", "id ");
    assert_int_equal(req.op, SB_OP_THREADS);
    const char *const wrong[] = {"null", "-1", "'1'", "1.0", "true", "[]", "{}", "{'$bin':'01'}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    {
        char json[80];
        (void)snprintf(json, sizeof(json), "{'op':'threads','id':%s}", wrong[i]);
        bad(json, "id ");
        assert_false(req.id.set);
    }
    bad("{'id':7}", "op ");
    assert_true(req.id.set);
    assert_int_equal(req.id.value, 7);
    bad("{'id':7,'op':null}", "op ");
    bad("{'id':7,'op':5}", "op ");
    bad("{'id':7,'op':'nothing'}", "op names no operation");
    assert_int_equal(req.op, SB_OP_UNKNOWN);
    bad("{'id':7,'op':''}", "op names no operation");
    bad("{'id':7,'op':'Threads'}", "op names no operation");
    accept("{'op':'threads','id':0}");
    assert_int_equal(req.id.value, 0);
    accept("{'id':3,'nonsense':[1,{'a':2}],'op':'threads','limit':null,'cursor':null}");
}

static void
test_largest_id(void **state)
{
    (void)state;
    struct sb_bytes f = kit_unhex("82 a2 6f70 a7 74687265616473 a2 6964 cf ffffffffffffffff");
    assert_int_equal(sb_request_decode(decoder, f, &req, &err), SB_DECODE_OK);
    assert_true(req.id.value == UINT64_MAX);
    kit_free(f);
}

static void
test_malformed(void **state)
{
    (void)state;
    assert_int_equal(decode("[]"), SB_DECODE_MALFORMED);
    assert_int_equal(decode("'threads'"), SB_DECODE_MALFORMED);
    assert_int_equal(sb_request_decode(decoder, sb_bytes(NULL, 0), &req, &err),
                     SB_DECODE_MALFORMED);
}

static void
test_not_built(void **state)
{
    (void)state;
    int seen = 0;
    for (enum sb_op op = 0; op < SB_OP_UNKNOWN; op++)
    {
        char json[80];
        if (sb_op_built(op))
            continue;
        (void)snprintf(json, sizeof(json), "{'id':9,'op':'%s'}", sb_op_name(op));
        bad(json, "this operation is not built");
        assert_int_equal(req.op, op);
        assert_int_equal(req.id.value, 9);
        seen++;
    }
    assert_true(seen > 0);
}

static void
test_hello(void **state)
{
    (void)state;
    accept("{'op':'hello','id':1,'token':'abc'}");
    assert_view(req.hello.token, "abc");
    assert_false(req.hello.resume.set);
    assert_int_equal(req.hello.n_seen, 0);
    accept("{'op':'hello','id':1,'token':'','resume':{'$bin':'00ff'},'seen':{'a':1,'b':2}}");
    assert_view(req.hello.resume.value, "\x00\xff");
    assert_int_equal(req.hello.n_seen, 2);
    assert_view(req.hello.seen[1].thread, "b");
    assert_int_equal(req.hello.seen[1].version, 2);
    /* A token of any length goes on to be refused like every other bad one. */
    accept("{'op':'hello','id':1,'token':{'$repeat':['x',5120]}}");
    accept("{'op':'hello','id':1,'token':'abc','seen':{}}");
    bad("{'op':'hello','id':1}", "token ");
    bad("{'op':'hello','id':1,'token':null}", "token ");
    bad("{'op':'hello','id':1,'token':{'$bin':'61'}}", "token ");
    bad("{'op':'hello','id':1,'token':'a','resume':'text'}", "resume ");
    bad("{'op':'hello','id':1,'token':'a','seen':[]}", "seen ");
    bad("{'op':'hello','id':1,'token':'a','seen':{'':1}}", "seen ");
    bad("{'op':'hello','id':1,'token':'a','seen':{'t':-1}}", "seen ");
    bad("{'op':'hello','id':1,'token':'a','seen':{'t':null}}", "seen ");
    bad("{'op':'hello','id':1,'token':'a','seen':{'t':9007199254740992}}", "seen ");
}

static void
test_seen_count(void **state)
{
    (void)state;
    for (int n = SB_MAX_SEEN; n <= SB_MAX_SEEN + 1; n++)
    {
        char json[2048] = "{'op':'hello','id':1,'token':'a','seen':{";
        for (int i = 0; i < n; i++)
            (void)snprintf(json + strlen(json), 32, "%s't%d':%d", i == 0 ? "" : ",", i, i);
        (void)snprintf(json + strlen(json), 4, "}}");
        if (n == SB_MAX_SEEN)
            accept(json);
        else
            bad(json, "seen ");
    }
}

static void
test_load_older(void **state)
{
    (void)state;
    accept("{'op':'load_older','id':1,'thread':'t'}");
    assert_view(req.load.thread, "t");
    assert_int_equal(req.load.limit, SB_DEFAULT_PAGE);
    assert_false(req.load.cursor.set || req.load.before.set || req.load.live);
    accept("{'op':'load_older','id':1,'thread':'t','limit':200,'cursor':{'$bin':'aabb'}}");
    assert_int_equal(req.load.limit, 200);
    assert_view(req.load.cursor.value, "\xaa\xbb");
    accept("{'op':'load_older','id':1,'thread':'t','before':9007199254740991}");
    assert_true(req.load.before.value == SB_MAX_SAFE_INT);
    accept("{'op':'load_older','id':1,'thread':'t','cursor':null,'before':3,'live':false}");
    accept("{'op':'load_older','id':1,'thread':'t','after':'ignored','seq':'too'}");
    bad("{'op':'load_older','id':1}", "thread ");
    bad("{'op':'load_older','id':1,'thread':'t','cursor':{'$bin':'aa'},'before':3}", "before ");
    bad("{'op':'load_older','id':1,'thread':'t','before':9007199254740992}", "before ");
    bad("{'op':'load_older','id':1,'thread':'t','before':-1}", "before ");
    bad("{'op':'load_older','id':1,'thread':'t','before':1.0}", "before ");
    bad("{'op':'load_older','id':1,'thread':'t','live':true}", "live is not built");
    bad("{'op':'load_older','id':1,'thread':'t','share':'archive'}", "share is not built");
}

static void
test_limit(void **state)
{
    (void)state;
    const char *const ops[] = {"'load_older'", "'load_newer'", "'load_around','seq':1", "'members'",
                               "'threads'"};
    const char *const wrong[] = {"0",    "-1",   "201",  "2147483648", "9223372036854775807",
                                 "'50'", "50.0", "true", "[]",         "{'$bin':'32'}"};
    for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
    {
        char json[128];
        (void)snprintf(json, sizeof(json), "{'op':%s,'id':1,'thread':'t','limit':1}", ops[o]);
        accept(json);
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        {
            (void)snprintf(json, sizeof(json), "{'op':%s,'id':1,'thread':'t','limit':%s}", ops[o],
                           wrong[i]);
            bad(json, "limit ");
        }
    }
    /* 2^64-1, and 50 in its longest form */
    struct sb_bytes f = kit_unhex("83 a2 6f70 a7 74687265616473 a2 6964 01 a5 6c696d6974"
                                  " cf ffffffffffffffff");
    assert_int_equal(sb_request_decode(decoder, f, &req, &err), SB_DECODE_BAD);
    kit_free(f);
    f = kit_unhex("83 a2 6f70 a7 74687265616473 a2 6964 01 a5 6c696d6974 d3 0000000000000032");
    assert_int_equal(sb_request_decode(decoder, f, &req, &err), SB_DECODE_OK);
    assert_int_equal(req.list.limit, 50);
    kit_free(f);
}

static void
test_cursor(void **state)
{
    (void)state;
    const char *const ops[] = {"load_older", "load_newer", "threads", "members"};
    for (size_t o = 0; o < 4; o++)
    {
        char json[320], hex[2 * (SB_MAX_CURSOR + 1) + 1];
        (void)snprintf(json, sizeof(json), "{'op':'%s','id':1,'thread':'t','cursor':{'$bin':''}}",
                       ops[o]);
        accept(json); /* the core answers invalid_cursor */
        memset(hex, 'a', sizeof(hex));
        hex[sizeof(hex) - 1] = '\0';
        (void)snprintf(json, sizeof(json), "{'op':'%s','id':1,'thread':'t','cursor':{'$bin':'%s'}}",
                       ops[o], hex);
        bad(json, "cursor ");
        hex[2 * SB_MAX_CURSOR] = '\0';
        (void)snprintf(json, sizeof(json), "{'op':'%s','id':1,'thread':'t','cursor':{'$bin':'%s'}}",
                       ops[o], hex);
        accept(json);
        const char *const wrong[] = {"'text'", "5", "-1", "4611686018427387904", "[]", "false"};
        for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        {
            (void)snprintf(json, sizeof(json), "{'op':'%s','id':1,'thread':'t','cursor':%s}",
                           ops[o], wrong[i]);
            bad(json, "cursor ");
        }
    }
}

static void
test_names(void **state)
{
    (void)state;
    accept("{'op':'members','id':1,'thread':{'$repeat':['n',128]}}");
    accept("{'op':'members','id':1,'thread':'caf\u00e9 \u00a0 \U0001f600'}");
    const char *const wrong[] = {"''",          "{'$repeat':['n',129]}",
                                 "'a\\u0000b'", "'a\\u001f'",
                                 "'a\\n'",      "'\\u007f'",
                                 "'\\u0080'",   "'x\\u009f'",
                                 "5",           "{'$bin':'61'}",
                                 "['t']"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
    {
        char json[96];
        (void)snprintf(json, sizeof(json), "{'op':'members','id':1,'thread':%s}", wrong[i]);
        bad(json, "thread ");
        (void)snprintf(json, sizeof(json), "{'op':'set_member','id':1,'thread':'t','user':%s}",
                       wrong[i]);
        bad(json, "user ");
    }
    assert_false(sb_name_ok(SB_LIT("\xff")));
    assert_false(sb_name_ok(sb_bytes(NULL, 0)));
    assert_true(sb_name_ok(SB_LIT("a")));
}

static void
test_filter(void **state)
{
    (void)state;
#define FILTER(body) "{'op':'load_older','id':1,'thread':'t','filter':" body "}"
    accept(FILTER("{}"));
    accept(FILTER("null"));
    accept(FILTER("{'by':['b','a','a'],'has':['attachment','image','file','link','reply'],"
                  "'kind':['join'],'thread_of':7,'from':1,'to':2}"));
    const struct sb_filter_frame *f = &req.load.filter;
    assert_int_equal(f->by.n, 3); /* neither sorted nor deduplicated */
    assert_view(f->by.v[0], "b");
    assert_int_equal(f->has.n, 5);
    assert_view(f->kind.v[0], "join");
    assert_true(f->thread_of.set && f->from.set && f->to.set && f->to.value == 2);
    accept(FILTER("{'by':[],'has':[],'mentions':[],'kind':[],'text':'','from':null}"));
    assert_false(f->text.set || f->from.set);
    assert_int_equal(f->by.n + f->has.n + f->mentions.n + f->kind.n, 0);
    accept(FILTER("{'unknown':null}"));
    bad(FILTER("{'unknown':1}"), "filter has a field");
    bad(FILTER("{'By':['a']}"), "filter has a field");
    bad(FILTER("[]"), "filter is a map");
    bad(FILTER("'text'"), "filter is a map");
    bad(FILTER("{'by':'a'}"), "filter.by ");
    bad(FILTER("{'by':[1]}"), "filter.by ");
    bad(FILTER("{'by':[null]}"), "filter.by ");
    bad(FILTER("{'by':['']}"), "filter.by ");
    bad(FILTER("{'by':['a\\u0007']}"), "filter.by ");
    bad(FILTER("{'has':['video']}"), "filter.has ");
    bad(FILTER("{'has':['Image']}"), "filter.has ");
    bad(FILTER("{'has':[{'$repeat':['x',5000]}]}"), "filter.has ");
    bad(FILTER("{'kind':['']}"), "filter.kind ");
    bad(FILTER("{'kind':[{'$repeat':['k',65]}]}"), "filter.kind ");
    bad(FILTER("{'thread_of':-1}"), "filter.thread_of ");
    bad(FILTER("{'from':9007199254740992}"), "filter.from ");
    bad(FILTER("{'to':'now'}"), "filter.to ");
    bad(FILTER("{'text':'word'}"), "filter.text is not built");
    bad(FILTER("{'mentions':['bob']}"), "filter.mentions is not built");
}

static void
test_filter_lists(void **state)
{
    (void)state;
    for (int n = SB_MAX_LIST; n <= SB_MAX_LIST + 1; n++)
    {
        char json[1024] = "{'op':'load_newer','id':1,'thread':'t','filter':{'by':[";
        for (int i = 0; i < n; i++)
            (void)snprintf(json + strlen(json), 16, "%s'u%d'", i == 0 ? "" : ",", i);
        (void)snprintf(json + strlen(json), 8, "]}}");
        if (n == SB_MAX_LIST)
            accept(json);
        else
            bad(json, "filter.by ");
    }
}

static void
test_load_newer_and_around(void **state)
{
    (void)state;
    accept("{'op':'load_newer','id':1,'thread':'t','after':4,'live':true}"); /* not its field */
    assert_int_equal(req.load.after.value, 4);
    bad("{'op':'load_newer','id':1,'thread':'t','after':4,'cursor':{'$bin':'aa'}}", "after ");
    bad("{'op':'load_newer','id':1,'thread':'t','after':'4'}", "after ");
    accept("{'op':'load_around','id':1,'thread':'t','seq':4}");
    assert_true(req.load.seq.set && !req.load.at.set && req.load.seq.value == 4);
    accept("{'op':'load_around','id':1,'thread':'t','at':0,'seq':null}");
    assert_true(req.load.at.set && req.load.at.value == 0);
    accept("{'op':'load_around','id':1,'thread':'t','seq':4,'cursor':'ignored'}");
    bad("{'op':'load_around','id':1,'thread':'t'}", "load_around takes one");
    bad("{'op':'load_around','id':1,'thread':'t','seq':1,'at':1}", "load_around takes one");
    bad("{'op':'load_around','id':1,'thread':'t','seq':1,'live':true}", "live is not built");
    bad("{'op':'load_around','id':1,'thread':'t','at':-5}", "at ");
}

static void
test_post(void **state)
{
    (void)state;
    accept("{'op':'post','id':1,'thread':'t','text':'hi','nonce':'n1','kind':'action',"
           "'reply_to':3,'mentions':['bob'],'meta':{'a':[1,-1,1.5,'x',{'$bin':'00'}]},"
           "'attachments':[{'name':'a.png','type':'image/png','size':12,'url':'https://x/a',"
           "'width':4,'extra':1}]}");
    const struct sb_message *m = &req.post.message;
    assert_view(m->text, "hi");
    assert_view(req.post.nonce.value, "n1");
    assert_view(m->kind, "action");
    assert_true(m->reply_to.set && m->reply_to.value == 3);
    assert_int_equal(m->n_mentions, 1);
    assert_view(m->mentions[0], "bob");
    assert_int_equal(m->n_attachments, 1);
    assert_view(m->attachments[0].type, "image/png");
    assert_int_equal(m->attachments[0].size, 12);
    assert_true(m->attachments[0].width.set && !m->attachments[0].height.set);
    json_t *meta = kit_unpack(m->meta);
    char *text = json_dumps(meta, JSON_COMPACT);
    assert_string_equal(text, "{\"a\":[1,-1,1.5,\"x\",{\"$bin\":\"00\"}]}");
    free(text);
    json_decref(meta);
    accept("{'op':'post','id':1,'thread':'t','text':'','attachments':"
           "[{'name':'','type':'','size':0,'url':'u'}]}");
    accept("{'op':'post','id':1,'thread':'t','text':'a\\u0000b','mentions':[],'attachments':[]}");
    assert_int_equal(m->text.len, 3);
    accept("{'op':'post','id':1,'thread':'t','text':{'$repeat':['x',49152]}}");
    refuse("{'op':'post','id':1,'thread':'t','text':{'$repeat':['x',49153]}}", SB_CODE_TOO_LARGE,
           "text ");
    refuse("{'op':'post','id':1,'thread':'t','text':'x','meta':{'a':{'$repeat':['x',4096]}}}",
           SB_CODE_TOO_LARGE, "meta ");
}

static void
test_post_refusals(void **state)
{
    (void)state;
#define POST(body) "{'op':'post','id':1,'thread':'t','text':'x'," body "}"
    bad("{'op':'post','id':1,'text':'x'}", "thread ");
    bad("{'op':'post','id':1,'thread':'t'}", "text ");
    bad("{'op':'post','id':1,'thread':'t','text':5}", "text ");
    bad("{'op':'post','id':1,'thread':'t','text':''}", "text may be empty only");
    bad("{'op':'post','id':1,'thread':'t','text':'','attachments':[]}", "text may be empty only");
    bad(POST("'nonce':''"), "nonce ");
    bad(POST("'nonce':5"), "nonce ");
    bad(POST("'nonce':{'$repeat':['n',65]}"), "nonce ");
    bad(POST("'kind':''"), "kind ");
    bad(POST("'kind':{'$repeat':['k',65]}"), "kind ");
    bad(POST("'kind':'a\\nb'"), "kind ");
    bad(POST("'reply_to':'1'"), "reply_to ");
    bad(POST("'mentions':{}"), "mentions ");
    bad(POST("'mentions':['']"), "mentions ");
    bad(POST("'attachments':{}"), "attachments ");
    bad(POST("'attachments':[1]"), "attachments ");
    bad(POST("'attachments':[{}]"), "an attachment's name");
    bad(POST("'attachments':[{'name':'a','type':'b','size':1}]"), "an attachment's url");
    bad(POST("'attachments':[{'name':'a','type':'b','size':1,'url':''}]"), "an attachment's url");
    bad(POST("'attachments':[{'name':'a','type':'b','size':-1,'url':'u'}]"),
        "an attachment's size");
    bad(POST("'attachments':[{'name':{'$repeat':['a',2049]},'type':'b','size':1,'url':'u'}]"),
        "an attachment's name");
    bad(POST("'attachments':[{'name':'a','type':'b','size':1,'url':'u','width':1.5}]"),
        "an attachment's width");
    bad(POST("'meta':[]"), "meta is a map");
    bad(POST("'meta':'{}'"), "meta is a map");
    bad(POST("'share':'sink'"), "share is not built");
}

static void
test_post_counts(void **state)
{
    (void)state;
    for (int n = 16; n <= 65; n++)
    {
        char json[4096] = "{'op':'post','id':1,'thread':'t','text':'x','mentions':[";
        for (int i = 0; i < n; i++)
            (void)snprintf(json + strlen(json), 16, "%s'u%d'", i == 0 ? "" : ",", i);
        (void)snprintf(json + strlen(json), 8, "]}");
        if (n <= SB_MAX_MENTIONS)
            accept(json);
        else
            bad(json, "mentions ");
        if (n > SB_MAX_ATTACHMENTS + 1)
            continue;
        (void)snprintf(json, sizeof(json),
                       "{'op':'post','id':1,'thread':'t','text':'x','attachments':[");
        for (int i = 0; i < n; i++)
            (void)snprintf(json + strlen(json), 64, "%s{'name':'','type':'','size':%d,'url':'u'}",
                           i == 0 ? "" : ",", i);
        (void)snprintf(json + strlen(json), 8, "]}");
        if (n == SB_MAX_ATTACHMENTS)
            accept(json);
        else
            bad(json, "attachments ");
    }
}

static void
test_create_thread(void **state)
{
    (void)state;
    accept("{'op':'create_thread','id':1,'thread':'t'}");
    assert_int_equal(req.create_thread.history, SB_HISTORY_ALL);
    assert_int_equal(req.create_thread.access, SB_ACCESS_MEMBERS);
    accept("{'op':'create_thread','id':1,'thread':'t','title':'T','history':'since_join',"
           "'access':'members','members':{'alice':'moderator','bob':'reader'}}");
    assert_int_equal(req.create_thread.history, SB_HISTORY_SINCE_JOIN);
    assert_int_equal(req.create_thread.n_members, 2);
    assert_int_equal(req.create_thread.members[0].role, SB_ROLE_MODERATOR);
    assert_view(req.create_thread.members[1].user, "bob");
    accept("{'op':'create_thread','id':1,'thread':'t','access':'tenant','history':'all'}");
    assert_int_equal(req.create_thread.access, SB_ACCESS_TENANT);
#define CREATE(body) "{'op':'create_thread','id':1,'thread':'t'," body "}"
    bad(CREATE("'access':'tenant','history':'since_join'"), "history since_join does not");
    bad(CREATE("'access':'world'"), "access ");
    bad(CREATE("'access':1"), "access ");
    bad(CREATE("'history':'none'"), "history ");
    bad(CREATE("'title':5"), "title ");
    bad(CREATE("'title':{'$repeat':['t',513]}"), "title ");
    bad(CREATE("'members':[]"), "members ");
    bad(CREATE("'members':{'a':'owner'}"), "members ");
    bad(CREATE("'members':{'a':null}"), "members ");
    bad(CREATE("'members':{'':'reader'}"), "members ");
}

static void
test_set_member(void **state)
{
    (void)state;
    accept("{'op':'set_member','id':1,'thread':'t','user':'u','role':'writer'}");
    assert_int_equal(req.set_member.role, SB_ROLE_WRITER);
    assert_view(req.set_member.user, "u");
    accept("{'op':'set_member','id':1,'thread':'t','user':'u','role':null}");
    assert_int_equal(req.set_member.role, SB_ROLE_NONE);
    accept("{'op':'set_member','id':1,'thread':'t','user':'u'}");
    assert_int_equal(req.set_member.role, SB_ROLE_NONE);
    bad("{'op':'set_member','id':1,'thread':'t','user':'u','role':''}", "role ");
    bad("{'op':'set_member','id':1,'thread':'t','user':'u','role':'service'}", "role ");
    bad("{'op':'set_member','id':1,'thread':'t','user':'u','role':2}", "role ");
    bad("{'op':'set_member','id':1,'thread':'t'}", "user ");
    bad("{'op':'set_member','id':1,'user':'u'}", "thread ");
    bad("{'op':'members','id':1}", "thread ");
    accept("{'op':'threads','id':1,'thread':5}");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_envelope),
        cmocka_unit_test(test_largest_id),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_not_built),
        cmocka_unit_test(test_hello),
        cmocka_unit_test(test_seen_count),
        cmocka_unit_test(test_load_older),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_filter),
        cmocka_unit_test(test_filter_lists),
        cmocka_unit_test(test_load_newer_and_around),
        cmocka_unit_test(test_post),
        cmocka_unit_test(test_post_refusals),
        cmocka_unit_test(test_post_counts),
        cmocka_unit_test(test_create_thread),
        cmocka_unit_test(test_set_member),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
