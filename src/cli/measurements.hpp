#pragma once
#include <optional>
#include <string>

#include "bench/regret.hpp"
#include "bench/timing.hpp"
#include "cli/json.hpp"

namespace lapidary::cli {

/// As the results of `lapidary bench --json` (docs/json.md).
Json measured_json(const bench::LadderMeasurement& result);
Json measured_json(const bench::PeerMeasurement& peer);

/// Of `lapidary gemm` and `regret`: null if there are none.
Json measured_json(const std::optional<double>& seconds);
Json measured_json(const std::optional<bench::BurstTimes>& bursts);

/// What `lapidary bench` prints and writes.
Json measured_json(const bench::LadderReport& report);

/// A file that is replaced as a whole: a reader finds what it was or what it is now, also where the program is ended in
/// between. Making one shows whether it can be written, before long work, and leaves what is there.
class OutputFile {
 public:
  /// @throws InvalidArgument if it cannot be written
  explicit OutputFile(const std::string& path);

  /// As often as there is something new. @throws Error
  void write(const std::string& text) const;

 private:
  std::string path_, partial_;
};

}  // namespace lapidary::cli
