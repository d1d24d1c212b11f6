/* web_dir.h - which directory of static files is served. */
#ifndef SB_APP_WEB_DIR_H
#define SB_APP_WEB_DIR_H

#define SB_WEB_DIR_MAX 4096

/* The configured one, else the installed demo beside the program (BIN/../share/scrollback/web)
 * if it is there, else "". */
void sb_web_dir_find(const char *configured, char out[SB_WEB_DIR_MAX]);

#endif
