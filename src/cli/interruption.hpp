#pragma once

namespace lapidary::cli {

/// While one lives, Ctrl-C (SIGINT) does not end the program but is remembered, and said on standard error; a second
/// one ends it. A SIGINT that the program was started to ignore is ignored still. There is one at a time.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  bool requested() const;
};

}  // namespace lapidary::cli
