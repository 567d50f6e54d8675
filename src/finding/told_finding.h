// ToldFinding: a finding with its story, as reports print it.
#pragma once

#include "finding/finding.h"
#include "finding/story.h"

namespace sisyfs {

struct ToldFinding {
  Finding finding;
  Story story;
};

}  // namespace sisyfs
