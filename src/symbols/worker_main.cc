// The worker as a program of its own, for the tests of this module; the server runs itself.
#include "symbols/worker.h"

int main() {
  return wherefore::symbols::RunWorker(0);
}
