// The file system of examples/pebblefs, compiled into the program: what a plug-in is measured against.
//
//   setup.make_target = make_pebble_target;    // in place of the target that libpebblefs.so makes
//
// A Target as one writes it by hand for code that one knows: it calls Pebble's functions, hands the Disk
// straight to them, and copies the tables that Pebble has in memory. Nothing is fenced. It begins on the same
// flash as the plug-in does and makes the same promises, so that a search of the one is a search of the
// other.
#pragma once

#include <memory>

#include "target/target.h"

namespace sisyfs {

std::unique_ptr<Target> make_pebble_target();

}  // namespace sisyfs
