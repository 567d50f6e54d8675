#!/bin/sh
# Runs each mutant of the checker (src/base/mutant.h) against the tests that should kill it.
#
#   scripts/mutants.sh PROGRAM     # the unit tests, built with -DSISYFS_MUTANTS=ON; ./test mutants does both
#
# tests/mutants.list has a line for each: name|what it breaks|filter of the tests. Prints the list with the
# first test that fails. Exit codes: 0 all were killed, 1 one survived or its tests fail without it, 2 the
# list and the program do not fit together.
set -u

root=$(dirname "$(dirname "$(readlink -f "$0")")")
program=${1:?the program with the unit tests}
list=$root/tests/mutants.list
said=$(mktemp) || exit 4
trap 'rm -f "$said"' EXIT

run() { # mutant or nothing, filter; gives the program's exit code
  SISYFS_MUTANT=$1 timeout 300 "$program" --gtest_filter="$2" --gtest_fail_fast --gtest_brief=1 >"$said" 2>&1
}

# The test that failed, or was running when the program ended.
killer() {
  sed -n 's/^\[  FAILED  \] \([A-Za-z0-9_/]*\.[A-Za-z0-9_/]*\).*/\1/p' "$said" | head -n 1
}

# Every mutant of the program has a line.
# shellcheck disable=SC2013
for name in $(sed -n 's/^  k\([A-Za-z]*\),.*/\1/p' "$root/src/base/mutant.h"); do
  [ "$name" = None ] || grep -q "^$name|" "$list" || {
    printf 'mutants: %s has no line in tests/mutants.list\n' "$name" >&2
    exit 2
  }
done

# Without a mutant all of these tests pass, so that what fails with one fails by it.
filters=$(sed '/^#/d; /^$/d; s/.*|//' "$list" | sort -u | paste -sd: -)
if ! run '' "$filters"; then
  printf 'mutants: these fail without a mutant: %s\n' "$(killer)" >&2
  exit 1
fi

survivors=0
total=0
printf '%-22s %-72s %s\n' mutant 'what it breaks' 'killed by'
while IFS='|' read -r name breaks filter; do
  case $name in '' | \#*) continue ;; esac
  if ! run "$name" 'MutantTest.IsTheOneThatTheEnvironmentNames'; then
    printf 'mutants: the program has no mutant %s\n' "$name" >&2
    exit 2
  fi
  total=$((total + 1))
  if run "$name" "$filter"; then
    survivors=$((survivors + 1))
    by='SURVIVED'
  else
    by=$(killer)
    [ -n "$by" ] || by="the program's end ($(tail -n 1 "$said" | cut -c 1-60))"
  fi
  printf '%-22s %-72s %s\n' "$name" "$breaks" "$by"
done <"$list"
printf '%s mutants, %s survived\n' "$total" "$survivors"
[ "$survivors" -eq 0 ]
