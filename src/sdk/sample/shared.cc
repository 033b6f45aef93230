#include "sdk/sample/shared.h"

#include "sdk/sample/heap_table.h"

namespace wherefore::sdk {

constinit Shared g_shared;
constinit HeapTable g_heap_table;

}  // namespace wherefore::sdk
