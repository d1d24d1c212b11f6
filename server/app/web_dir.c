/* web_dir.c - see web_dir.h. The program finds its files from where it lies, so that an
 * installed tree can be moved. */
#include "app/web_dir.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void
sb_web_dir_find(const char *configured, char out[SB_WEB_DIR_MAX])
{
    static const char tail[] = "/../share/scrollback/web";
    struct stat st;
    if (configured[0] != '\0')
    {
        (void)snprintf(out, SB_WEB_DIR_MAX, "%s", configured);
        return;
    }
    ssize_t n = readlink("/proc/self/exe", out, SB_WEB_DIR_MAX - sizeof(tail));
    out[n < 0 ? 0 : n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        out[0] = '\0';
    else
        memcpy(slash, tail, sizeof(tail));
    if (stat(out, &st) != 0 || !S_ISDIR(st.st_mode))
        out[0] = '\0';
}
