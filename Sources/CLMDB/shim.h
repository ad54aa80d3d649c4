#pragma once
#include <lmdb.h>

// A store's files are those of LMDB 0.9; the page FileFormat says why another one is of no use.
#if MDB_VERSION_MAJOR != 0 || MDB_VERSION_MINOR != 9
#error "evstore is built with LMDB 0.9 (Debian: liblmdb-dev below version 1)"
#endif
