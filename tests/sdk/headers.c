/* The C ABI's header is C: compiled as C99, with every warning an error. */
#include <string.h>

#include "wherefore/wherefore.h"

int UseFromC(void);
int UseFromC(void) {
  struct wherefore_options options;
  memset(&options, 0, sizeof(options));
  options.size = sizeof(options);
  options.service_name = "c";
  return (int)options.size;
}
