/* error.c - the tables behind error.h. */
#include "base/error.h"

#include <stddef.h>

static const struct
{
    const char *name, *text;
    enum sb_code code;
} errors[] = {
#define X(id, code, text) {#id, text, SB_CODE_##code},
    SB_ERRORS(X)
#undef X
};

static size_t
place(int err)
{
    if (err < 0 && -err < SB_ERR_END_)
        return (size_t)-err - 1;
    return (size_t)SB_ERR_AT_INTERNAL - 1;
}

enum sb_code
sb_error_code(int err)
{
    return errors[place(err)].code;
}

const char *
sb_error_text(int err)
{
    return errors[place(err)].text;
}

const char *
sb_error_name(int err)
{
    return errors[place(err)].name;
}
