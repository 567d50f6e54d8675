# shellcheck shell=sh disable=SC2034
# What ./sisyfs and ./test share: packages, one builder at a time, configure and build.
#
# Sourced, never run. The caller sets `root` (the repository). Everything said goes to stderr, one line
# a stage; the full output of each stage goes to build/setup.log and is shown when the stage fails.
#
# Exit codes: 2 packages are missing and may not be installed here, 4 the system refused (a build that
# fails, a directory that cannot be written, a full disk). These are the program's own codes for "change
# something and start again" and "could not do it".

build=${SISYFS_BUILD_DIR:-$root/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac
log=$build/setup.log

# The package that provides each thing, and the thing: a command, or when it has a dot a header, or what lies
# that way from /usr/include.
packages_to_build='cmake:cmake ninja-build:ninja g++:c++ libcli11-dev:CLI/CLI.hpp libfmt-dev:fmt/core.h
  nlohmann-json3-dev:nlohmann/json.hpp libxxhash-dev:xxhash.h libtomlplusplus-dev:toml++/toml.h
  libfuse3-dev:fuse3/fuse_lowlevel.h libext2fs-dev:ext2fs/ext2fs.h e2fsck-static:../../sbin/e2fsck.static
  ntfs-3g-dev:ntfs-3g/volume.h ntfs-3g:../bin/ntfsfix'
packages_to_test='libgtest-dev:gtest/gtest.h libgmock-dev:gmock/gmock.h spin:spin clang-format:clang-format
  clang-tidy:clang-tidy'
# What tests with a kernel in a guest need. Without it they are skipped.
packages_to_boot='user-mode-linux:linux.uml xfsprogs:../sbin/mkfs.xfs btrfs-progs:../sbin/mkfs.btrfs
  jfsutils:../sbin/mkfs.jfs reiserfsprogs:../sbin/mkfs.reiserfs f2fs-tools:../sbin/mkfs.f2fs
  nilfs-tools:../sbin/mkfs.nilfs2 dosfstools:../sbin/mkfs.vfat udftools:../sbin/mkfs.udf'

say() { printf 'sisyfs: %s\n' "$*" >&2; }

die() { # code, words
  code=$1
  shift
  say "$@"
  exit "$code"
}

# ---------------------------------------------------------------------------------------------------
# Is the program up to date? Asked at every start, so it costs one `find` and no other process.

# What a build is bound to: the place of the repository (CMake keeps absolute paths) and the processor
# (a release is tuned for the one that builds it, and may not even start on another).
machine_id() {
  cpu=
  while read -r key rest; do
    case $key in flags | Features) cpu=$rest && break ;; esac
  done 2>/dev/null </proc/cpuinfo
  printf '%s\n%s\n' "$root" "$cpu"
}

# Whether what `preset` has built is for this place and processor.
built_here() { # preset
  here=$(machine_id)
  there=
  while IFS= read -r line; do there=${there:+$there
}$line; done 2>/dev/null <"$build/$1/.door-machine"
  [ "$here" = "$there" ]
}

# What is compiled into the program, from the root of the repository.
watched='CMakeLists.txt CMakePresets.json src include museum bench examples'

# Runs `find` over what is watched. A directory counts too: its time changes when a file in it appears or goes.
find_watched() { # an expression of find
  # The words are split on purpose.
  # shellcheck disable=SC2086
  (cd "$root" && find $watched ! -name '*_test.cc' "$@" 2>/dev/null)
}

# Whether the release program was built from the sources as they are now.
up_to_date() {
  stamp=$build/release/.door-stamp
  [ -x "$build/release/sisyfs" ] && [ -e "$stamp" ] && built_here release || return 1
  changed=$(find_watched -newer "$stamp" -print -quit)
  [ -z "$changed" ]
}

# ---------------------------------------------------------------------------------------------------
# Stages.

no_room() {
  free=$(df -Pk "$build" 2>/dev/null | awk 'NR == 2 { print $4 }')
  [ "${free:-999999}" -lt 1024 ] || grep -qs 'No space left on device' "$log"
}

failed() { # what was tried
  [ -s "$log" ] && tail -n 40 "$log" >&2
  if no_room; then
    die 4 "$1 failed: the disk of $build is full; free some space (a build takes about 300 MB) and start again"
  fi
  die 4 "$1 failed; the whole output is in $log"
}

run() { # command and arguments; the output goes to the log
  printf '\n$ %s\n' "$*" 2>/dev/null >>"$log"
  "$@" >>"$log" 2>&1 </dev/null
}

# Makes the build directory, and waits until no other start is at work in it. The lock is file
# descriptor 9; unlock() gives it back.
lock() {
  if ! refusal=$(mkdir -p "$build" 2>&1 && : 2>&1 >>"$build/.lock"); then
    refusal=${refusal##*: }
    no_room && die 4 "cannot write to $build: the disk is full"
    die 4 "cannot write to $build (${refusal:-not allowed}): make it writable, or name another place: SISYFS_BUILD_DIR=DIR $0"
  fi
  exec 9>>"$build/.lock"
  if ! flock -n 9; then
    say "waiting for another start that is building here"
    flock 9
  fi
  if ! : 2>/dev/null >"$log"; then die 4 "cannot write to $log"; fi
}

unlock() { exec 9>&-; }

# The packages of a list whose thing is not on this machine.
missing_of() { # package:thing...
  absent=
  for pair in "$@"; do
    thing=${pair#*:}
    case $thing in
      *.*) [ -e "/usr/include/$thing" ] || [ -e "/usr/local/include/$thing" ] && continue ;;
      c++) [ -n "${CXX:-}" ] && continue ;;
    esac
    command -v "$thing" >/dev/null 2>&1 && continue
    absent="$absent ${pair%%:*}"
  done
  printf '%s' "${absent# }"
}

may_not_install() { # the one command; it stands alone on its line, to be copied
  say "some packages are missing and may not be installed from here. Run this, then start again:"
  printf '%s\n' "$1" >&2
  exit 2
}

# Installs what is missing of the given packages; where that is not allowed, prints the one command
# that does it and ends with 2.
install_missing() { # package:thing...
  missing=$(missing_of "$@")
  [ -n "$missing" ] || return 0

  apt="apt-get install -y --no-install-recommends $missing"
  as_root=
  if ! command -v apt-get >/dev/null 2>&1; then
    die 2 "needs these packages (by their Debian names), and there is no apt-get to install them: $missing"
  elif [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      may_not_install "su -c 'apt-get update && $apt'"
    elif ! sudo -n true 2>/dev/null </dev/null; then
      may_not_install "sudo sh -c 'apt-get update && $apt'"
    fi
    as_root='sudo -n'
  fi

  say "installing $missing"
  # Old package lists may still do, so a failed update alone is not the end. The words are split on purpose.
  # shellcheck disable=SC2086
  run $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 update || true
  # shellcheck disable=SC2086
  run $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 \
    install -y --no-install-recommends $missing || failed "installing packages"
}

# Throws a build directory away that is from another place or processor.
discard_foreign() { # preset
  dir=$build/$1
  [ -e "$dir/CMakeCache.txt" ] || return 0
  if [ -e "$dir/.door-machine" ]; then
    built_here "$1" && return 0
  else
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt" && return 0
  fi
  say "discarding $dir, which was built in another place or on another processor"
  rm -rf "$dir" || failed "discarding an old build"
}

configure() { # preset, further arguments of cmake
  preset=$1
  shift
  mkdir -p "$build/$preset" 2>>"$log" || failed "configuring"
  machine_id 2>>"$log" >"$build/$preset/.door-machine" || failed "configuring"
  (cd "$root" && run cmake --preset "$preset" -B "$build/$preset" "$@") || failed "configuring"
}

# Builds. The time of the stamp is that of the start, so that a source saved meanwhile is seen next time.
build() { # preset, further arguments of cmake --build
  preset=$1
  shift
  : 2>>"$log" >"$build/$preset/.door-started" || failed "building"
  run cmake --build "$build/$preset" "$@" || failed "building"
  mv "$build/$preset/.door-started" "$build/$preset/.door-stamp" || failed "building"
}
