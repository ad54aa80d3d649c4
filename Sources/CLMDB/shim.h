#pragma once
#include <lmdb.h>
// Not in the module of the C library.
#include <sys/vfs.h>
