// The models by name, for the registry.
#pragma once

#include "finding/registry.h"

namespace sisyfs {

void add_model_targets(CheckRegistry& registry);

}  // namespace sisyfs
