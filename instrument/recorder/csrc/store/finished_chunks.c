#include "store/finished_chunks.h"

#include <stdlib.h>
#include <string.h>

#define NO_CHUNK 0u

struct aging aging;

void aging_forget(void) {
    if (aging.room) memset(aging.of, 0, aging.room * sizeof *aging.of);
    aging.first = aging.last = NO_CHUNK;
}

bool aging_reserve(uint64_t count) {
    if (count < aging.room) return true;
    uint64_t room = 2 * count + 2;
    struct neighbours *larger = room < UINT32_MAX ? realloc(aging.of, room * sizeof *larger) : NULL;
    if (!larger) return false;
    memset(larger + aging.room, 0, (room - aging.room) * sizeof *larger);
    aging.of = larger;
    aging.room = room;
    return true;
}

void aging_leave(uint32_t name) {
    if (name >= aging.room || (aging.first != name && !aging.of[name].before)) return;
    struct neighbours *own = &aging.of[name];
    *(own->before ? &aging.of[own->before].after : &aging.first) = own->after;
    *(own->after ? &aging.of[own->after].before : &aging.last) = own->before;
    *own = (struct neighbours){NO_CHUNK, NO_CHUNK};
}

void aging_enter(uint32_t name) {
    if (name >= aging.room) return;
    aging_leave(name);
    aging.of[name].before = aging.last;
    *(aging.last ? &aging.of[aging.last].after : &aging.first) = name;
    aging.last = name;
}
