// libFuzzer as a library (compiler-rt, `FuzzerInterface.h`): the driver that its own `main` would call.
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *count, char ***words, int (*take)(const uint8_t *bytes, size_t count));
