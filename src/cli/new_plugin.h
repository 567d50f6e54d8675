// The files that 'sisyfs new-plugin' writes. They build without changes.
#pragma once

namespace sisyfs::cli {

extern const char* const kSkeletonCode;      // examples/skeleton/plugin.c; the file system is called myfs
extern const char* const kSkeletonMakefile;  // examples/skeleton/Makefile
extern const char* const kPluginHeader;      // include/sisyfs/plugin.h

}  // namespace sisyfs::cli
