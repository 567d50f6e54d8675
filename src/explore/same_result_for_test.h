// Two results of one search are the same in everything but time and memory. For tests.
#pragma once

#include <gtest/gtest.h>

#include "explore/search.h"

namespace sisyfs {

inline void expect_same(const SearchResult& a, const SearchResult& b) {
  EXPECT_EQ(a.verdict, b.verdict);
  EXPECT_EQ(a.stopped, b.stopped);
  EXPECT_EQ(a.states, b.states);
  EXPECT_EQ(a.transitions, b.transitions);
  EXPECT_EQ(a.unexpanded, b.unexpanded);
  EXPECT_EQ(a.depth, b.depth);
  EXPECT_EQ(a.exhausted, b.exhausted);
  EXPECT_EQ(a.findings, b.findings);
  EXPECT_EQ(a.marks, b.marks);
  EXPECT_EQ(a.times_found, b.times_found);
  EXPECT_EQ(a.least_depth, b.least_depth);
  EXPECT_EQ(a.visited, b.visited);
  ASSERT_EQ(a.traces.size(), b.traces.size());
  for (size_t i = 0; i < a.traces.size(); ++i) {
    EXPECT_EQ(a.traces[i].kind, b.traces[i].kind);
    EXPECT_EQ(a.traces[i].trace, b.traces[i].trace);
  }
}

}  // namespace sisyfs
