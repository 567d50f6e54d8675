#!/bin/sh -eu
# Is each record that the store shows one that run.sh has put, and which acknowledged ones are still there?
here=$(dirname "$0")
text=$(printf '%05000d' 7)
shown=$("$here/ledgerkv" list)  # it fails where the store is damaged

kept() { for line; do sisyfs-kept "$line"; done; }
IFS='
'
set -f
for record in $shown; do
  case $record in
    '1 color=red') kept '1 color' ;;
    '2 shape=round') kept '2 shape' ;;
    "3 text=$text") kept '3 text' ;;
    '4 color=blue') kept '1 color' '4 color' ;;  # the new value means that the old one had been there
    '5 size=large') kept '5 size' ;;
    *)
      printf 'a record that was never put: %.60s\n' "$record"
      exit 1
      ;;
  esac
done
