#!/bin/sh
# Compiles nothing itself: puts the examples of header comments into a source that is compiled with the tests, so that
# a stale example breaks the build.
#
#   scripts/header_examples.sh TEMPLATE ROOT >SOURCE
#
# The template is C++ in which a line "// EXAMPLE src/tree/tree.h" stands for the example of that header: the last
# run of indented lines in the comment above #pragma once ("// EXAMPLE FILE first" takes the first run). What the example
# takes as given, the template declares before that line. In an example, "..." stands for an empty statement; a line
# that begins with it is left out.
#
# Exit code 1 if a header has no example.
set -eu

awk -v root="$2" -v template="$1" '
  # Reads the example of a header to text[1..count], with the number of its first line in start.
  function read_example(file, which,    line, number, run, runs, gap, body) {
    count = runs = gap = 0
    run = 0
    number = 0
    while ((getline line <(root "/" file)) > 0) {
      number++
      if (line ~ /^#pragma once/) break
      if (line ~ /^(\/\/   | \*     )[^ ]/ || (run && line ~ /^(\/\/   | \*     )/)) {
        if (!run) {
          if (runs && which == "first") break
          run = 1
          runs++
          count = 0
          start = number
        }
        # An empty line between two parts of an example belongs to it.
        while (count < number - start) text[++count] = ""
        body = line
        sub(/^(\/\/   | \*     )/, "", body)
        text[++count] = body
        gap = 0
      } else if (run && line ~ /^(\/\/| \*)$/ && !gap) {
        gap = 1
      } else {
        run = 0
        gap = 0
      }
    }
    close(root "/" file)
    return count
  }

  # An ellipsis in code becomes an empty statement; in a comment it may stay.
  function plain(line,    comment, code) {
    if (line ~ /^ *\.\.\./) return ""
    comment = index(line, "//")
    code = comment ? substr(line, 1, comment - 1) : line
    gsub(/\.\.\./, "{}", code)
    return code
  }

  /^ *\/\/ EXAMPLE / {
    if (!read_example($3, $4)) {
      print template ":" FNR ": no example in the header comment of " $3 | "cat >&2"
      failed = 1
      exit
    }
    print "#line " start " \"" root "/" $3 "\""
    for (i = 1; i <= count; i++) print plain(text[i])
    print "#line " FNR + 1 " \"" template "\""
    next
  }
  { print }
  END { exit failed }
' "$1"
