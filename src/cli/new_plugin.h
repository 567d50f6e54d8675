// What 'sisyfs new-plugin' writes: a directory that builds as it is.
#pragma once

namespace sisyfs::cli {

extern const char* const kSkeletonCode;      // examples/skeleton/plugin.c, of a file system called myfs
extern const char* const kSkeletonMakefile;  // examples/skeleton/Makefile
extern const char* const kPluginHeader;      // include/sisyfs/plugin.h

}  // namespace sisyfs::cli
