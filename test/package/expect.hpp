#pragma once
#include <cstdio>

inline int failures = 0;

inline void expect(bool holds, const char* what) {
  std::printf("%s  %s\n", holds ? "ok    " : "FAILED", what);
  failures += !holds;
}
