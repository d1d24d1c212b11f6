/* meta.h - a JSON map to the packed map that stands in a message's `meta`. */
#ifndef SB_IMPORT_META_H
#define SB_IMPORT_META_H

#include "import/json.h"

/* Packs a map into buf; its length, or 0 when it is no map, too large, or too deep to be
 * carried by a reply. */
size_t sb_import_meta_pack(const struct sb_json *map, void *buf, size_t cap);

#endif
