#pragma once
// Not in the module of the C library.
#include <sys/vfs.h>
