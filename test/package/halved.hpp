#pragma once
#include <device/prepared.hpp>

#define DECLARE(build)                                                                             \
  namespace build {                                                                                \
  lapidary::Prepared prepare_halved(const lapidary::Problem& problem, const lapidary::Card& card); \
  }
DECLARE(plain)
DECLARE(instrumented)
#undef DECLARE
