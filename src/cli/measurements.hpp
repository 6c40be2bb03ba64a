#pragma once
#include <fstream>
#include <string>

#include "bench/timing.hpp"
#include "cli/json.hpp"

namespace lapidary::cli {

/// As the results of `lapidary bench --json` (docs/json.md).
Json to_json(const bench::LadderMeasurement& result);
Json to_json(const bench::PeerMeasurement& peer);

/// A file that is written at the end of long work. It is opened at the beginning, under another name, so that a
/// directory that cannot be written to shows in time and a file that is there stays until it is replaced.
class OutputFile {
 public:
  /// @throws InvalidArgument if it cannot be written
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Once. @throws Error
  void write(const std::string& text);

 private:
  std::string path_, partial_;
  std::ofstream stream_;
};

}  // namespace lapidary::cli
