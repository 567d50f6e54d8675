#!/bin/sh -eu
# What file_calls has written must be there once it was acknowledged.
[ -s "$SISYFS_ACKED" ] || exit 0
wrong() { echo "wrong: $1"; exit 1; }
is() { [ "$(cat "$1")" = "$2" ] || wrong "$1"; }
size() { [ "$(stat -c %s "$1")" = "$2" ] || wrong "size of $1"; }

size mapped 10000
[ "$(head -c 5 mapped)" = first ] || wrong mapped
[ "$(tail -c 1000 mapped | head -c 4)" = last ] || wrong mapped
for file in direct copied sent; do [ "$(tr -d d <$file | wc -c)" = 0 ] || wrong $file; done
size direct 8192
size copied 5000
size sent 5000
is one 2
is two 1
size vector 6000
[ "$(tr -d '\0' <vector)" = bcde ] && [ "$(tail -c +4096 vector | head -c 4)" = bcde ] || wrong vector
[ "$(stat -c %a vector)" = 600 ] || wrong "mode of vector"
[ "$(readlink soft)" = vector ] && [ hard -ef vector ] || wrong links
is thread1 thread1
is thread2 thread2
is made/child child
is appended 'one two'
