#!/bin/sh
# Checks each planted mistake of examples/quillfs and examples/pebblefs with default options, and prints a table in
# Markdown: the mistake, its mode and kind, the finding, its steps, the stage that found it, seconds.
#
#   scripts/planted_mistakes.sh [SECONDS [OPTIONS OF CHECK]]      default: 60 seconds for each
#   ONLY="quillfs_flush_tail pebblefs_wrap" scripts/planted_mistakes.sh 60 --stages torn
#
# Needs the built tests (./test builds the libraries). Exit code 1 if one was not found.
set -u
root=$(dirname "$(dirname "$(readlink -f "$0")")")
build=$root/build/release
seconds=${1:-60}
[ $# -gt 0 ] && shift
found=0
total=0

try_one() { # library, mode, kind, options of check
  library=$1 mode=$2 kind=$3
  shift 3
  if [ -n "${ONLY:-}" ]; then
    case " $ONLY " in *" $library "*) ;; *) return ;; esac
  fi
  begin=$(date +%s%N)
  said=$("$build/sisyfs" check "$build/plugins/examples/lib$library.so" --progress off --time "${seconds}s" "$@" \
    </dev/null 2>&1)
  code=$?
  took=$((($(date +%s%N) - begin) / 100000000))
  total=$((total + 1))
  case $code in
    1) found=$((found + 1)) ;;
    0) kind="$kind; **not found, all tried**" ;;
    3) kind="$kind; **not found**" ;;
    *) kind="$kind; **exit code $code**" ;;
  esac
  finding=$(printf '%s\n' "$said" | sed -n 's/^FOUND \([^ ]* ([A-Z][0-9]*\).*/\1)/p' | head -n 1)
  steps=$(printf '%s\n' "$said" | tr '\n' ' ' | grep -o "[0-9][0-9]*  *steps*[, ]" | head -n 1)
  stage=$(printf '%s\n' "$said" | sed -n 's/^    *\([a-z-]*\)  .*  FOUND .*/\1/p' | head -n 1)
  # shellcheck disable=SC2016
  printf '| `%s` | %s | %s | %s | %s | %s | %d.%d |\n' \
    "${library#*_}" "$mode" "$kind" "$finding" "${steps%% *}" "$stage" $((took / 10)) $((took % 10))
}

head_of() {
  printf '\n## %s\n\n| mistake | mode | kind | found | steps | in the stage | seconds |\n| --- | --- | --- | --- | --- | --- | --- |\n' "$1"
}

head_of quillfs
while read -r name mode kind _; do
  case $name in '' | '#'*) continue ;; esac
  try_one "quillfs_$name" "$mode" "$kind" "$@"
done <"$root/examples/quillfs/mistakes.txt"
head_of pebblefs
bugs=$(sed -n 's/^set(pebble_bugs \(.*\))$/\1/p' "$root/examples/CMakeLists.txt")
for bug in $bugs; do
  try_one "pebblefs_$bug" flash other "$@"
done
printf '\nFound: %d of %d.\n' "$found" "$total"
[ "$found" -eq "$total" ]
