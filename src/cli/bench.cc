#include "cli/cli.h"
namespace sisyfs::cli {
void add_bench(CLI::App&, int&) {}
}  // namespace sisyfs::cli
