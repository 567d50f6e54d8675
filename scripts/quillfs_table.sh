#!/bin/sh
# Checks every planted mistake of examples/quillfs with default options, and prints a table: name, mode, kind of mistake,
# found or not, the finding, seconds.
#
#   scripts/quillfs_table.sh [SECONDS [OPTIONS OF CHECK]]      default: 60 seconds for each
#   BUGS="flush_tail sum_first" scripts/quillfs_table.sh 60 --set device=hostile
#
# Needs the built tests (./test builds the libraries).
set -u
root=$(dirname "$(dirname "$(readlink -f "$0")")")
build=$root/build/release
seconds=${1:-60}
[ $# -gt 0 ] && shift
found=0
total=0
while read -r name mode kind _; do
  case $name in '' | '#'*) continue ;; esac
  if [ -n "${BUGS:-}" ]; then
    case " $BUGS " in *" $name "*) ;; *) continue ;; esac
  fi
  begin=$(date +%s.%N)
  said=$("$build/sisyfs" check "$build/plugins/examples/libquillfs_$name.so" --progress off --time "${seconds}s" "$@" \
    </dev/null 2>&1)
  code=$?
  took=$(echo "$(date +%s.%N) - $begin" | bc)
  case $code in
    0) result='not found, all tried' ;;
    1) result=found && found=$((found + 1)) ;;
    3) result='not found' ;;
    *) result="exit code $code" ;;
  esac
  finding=$(printf '%s\n' "$said" | sed -n 's/^FOUND \([^ ]* ([A-Z][0-9]*\).*/\1)/p' | tr '\n' ' ')
  steps=$(printf '%s\n' "$said" | grep -o '[0-9]* steps*' | head -1)
  total=$((total + 1))
  printf '%-22s %-8s %-7s %-21s %6.1f  %s %s\n' "$name" "$mode" "$kind" "$result" "$took" "$finding" "$steps"
done <"$root/examples/quillfs/mistakes.txt"
echo "found $found of $total"
