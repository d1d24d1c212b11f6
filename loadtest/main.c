/* main.c - scrollback-load: options and help. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loadtest/options.h"

static const char help[] =
    "usage: scrollback-load scroll|idle --token JWT [options]\n"
    "\n"
    "scroll: clients that scroll back through random threads of the token's user.\n"
    "idle:   connections that say hello and wait; tells what each costs (needs --pid).\n"
    "\n"
    "  --url URL            ws://HOST:PORT/PATH, default ws://127.0.0.1:8484/v1\n"
    "  --token JWT          or SB_TOKEN in the environment\n"
    "  --connections N      default 64\n"
    "  --seconds S          measured time, default 10\n"
    "  --warmup S           before it, not counted, default 2\n"
    "  --limit N            rows of a page, default 50\n"
    "  --rate N             requests per second in all, on a fixed schedule; latency counts\n"
    "                       from when a request was due. Default: closed loop\n"
    "  --newer              walk from the oldest row up\n"
    "  --pid PID            the server's: tells its CPU per page and its RssAnon\n"
    "  --json FILE          writes the result there too\n"
    "  --seed N             of the choice of threads, default from the clock\n"
    "  --help\n";

static int
usage(const char *what)
{
    fprintf(stderr, "scrollback-load: %s\ntry scrollback-load --help\n", what);
    return 2;
}

static bool
parse_url(const char *url, struct sb_load_options *o)
{
    const char *p = strncmp(url, "ws://", 5) == 0 ? url + 5 : NULL;
    const char *colon = p == NULL ? NULL : strchr(p, ':');
    const char *slash = colon == NULL ? NULL : strchr(colon, '/');
    if (slash == NULL || (size_t)(colon - p) >= sizeof(o->host) ||
        (size_t)(slash - colon) > sizeof(o->port) || strlen(slash) >= sizeof(o->path))
        return false;
    snprintf(o->host, sizeof(o->host), "%.*s", (int)(colon - p), p);
    snprintf(o->port, sizeof(o->port), "%.*s", (int)(slash - colon - 1), colon + 1);
    snprintf(o->path, sizeof(o->path), "%s", slash);
    return true;
}

static bool
number(const char *text, double min, double max, double *out)
{
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end != 0 || !(v >= min && v <= max))
        return false;
    *out = v;
    return true;
}

int
main(int argc, char **argv)
{
    static const struct option longs[] = {{"url", required_argument, NULL, 'u'},
                                          {"token", required_argument, NULL, 't'},
                                          {"connections", required_argument, NULL, 'c'},
                                          {"seconds", required_argument, NULL, 's'},
                                          {"warmup", required_argument, NULL, 'w'},
                                          {"limit", required_argument, NULL, 'l'},
                                          {"rate", required_argument, NULL, 'r'},
                                          {"newer", no_argument, NULL, 'n'},
                                          {"pid", required_argument, NULL, 'p'},
                                          {"json", required_argument, NULL, 'j'},
                                          {"seed", required_argument, NULL, 'S'},
                                          {"help", no_argument, NULL, 'h'},
                                          {0}};
    struct sb_load_options o = {.token = getenv("SB_TOKEN"),
                                .connections = 64,
                                .seconds = 10,
                                .warmup = 2,
                                .limit = 50,
                                .seed = (uint64_t)time(NULL)};
    parse_url("ws://127.0.0.1:8484/v1", &o);
    int c;
    while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
    {
        double v = 0;
        bool ok = true;
        switch (c)
        {
        case 'u':
            ok = parse_url(optarg, &o);
            break;
        case 't':
            o.token = optarg;
            break;
        case 'c':
            ok = number(optarg, 1, 100000, &v);
            o.connections = (uint32_t)v;
            break;
        case 's':
            ok = number(optarg, 0.1, 86400, &o.seconds);
            break;
        case 'w':
            ok = number(optarg, 0, 3600, &o.warmup);
            break;
        case 'l':
            ok = number(optarg, 1, 200, &v);
            o.limit = (uint32_t)v;
            break;
        case 'r':
            ok = number(optarg, 0, 1e7, &o.rate);
            break;
        case 'n':
            o.newer = true;
            break;
        case 'p':
            ok = number(optarg, 1, 1e9, &v);
            o.pid = (long)v;
            break;
        case 'j':
            o.json = optarg;
            break;
        case 'S':
            ok = number(optarg, 0, 1e15, &v);
            o.seed = (uint64_t)v;
            break;
        case 'h':
            fputs(help, stdout);
            return 0;
        default:
            return usage("an option is not known or lacks its value");
        }
        if (!ok)
            return usage("the value of an option is out of its range");
    }
    const char *mode = optind + 1 == argc ? argv[optind] : "";
    bool idle = strcmp(mode, "idle") == 0;
    if (!idle && strcmp(mode, "scroll") != 0)
        return usage("say what to do: scroll or idle");
    if (o.token == NULL)
        return usage("--token is needed (scrollback token makes one)");
    return idle ? sb_idle_run(&o) : sb_scroll_run(&o);
}
