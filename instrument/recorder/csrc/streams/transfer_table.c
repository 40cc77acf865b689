#include "streams/transfer_table.h"

#include <stddef.h>

#define DESCRIBE(name, owner, does, data, flags) {#name, owner, does, data, flags, {{0}, NULL}, {{0}, NULL}},
struct transfer transfers[TRANSFER_COUNT] = {TRANSFERS(DESCRIBE){"dup", OF_MODULE, COPIES, -1, -1, {{0}, NULL}, {{0}, NULL}}};
