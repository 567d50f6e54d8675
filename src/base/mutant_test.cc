#include "base/mutant.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace sisyfs::mutant_test {
namespace {

#ifdef SISYFS_MUTANTS
// `./test mutants` runs this test first, so that a misspelt name does not count as a mutant that was killed
// or survived.
TEST(MutantTest, IsTheOneThatTheEnvironmentNames) {
  const char* const said = std::getenv("SISYFS_MUTANT");
  EXPECT_EQ(chosen_mutant() != Mutant::kNone, said != nullptr && *said != '\0') << "no mutant is called so";
}
#else
TEST(MutantTest, NormalBuildHasNone) {
  static_assert(!mutant(Mutant::kForgetSync) && !mutant(Mutant::kTrustToken));
  EXPECT_FALSE(mutant(Mutant::kNone)) << "not even the one that is none";
}
#endif

}  // namespace
}  // namespace sisyfs::mutant_test
