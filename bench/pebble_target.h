// The file system of examples/pebblefs, compiled into the program: what a plug-in is measured against.
//
//   setup.kind = pebble_kind();    // in place of the kind of libpebblefs.so
//
// It calls Pebble's functions directly, and saves memory by copying Pebble's tables. No fence protects the
// checker. It starts with the same flash content as the plug-in and makes the same promises, so a search of
// either gives the same states.
#pragma once

#include "target/target.h"

namespace sisyfs {

TargetKind pebble_kind();

}  // namespace sisyfs
