#include "cli/measurements.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"

namespace lapidary::cli {

static Json to_json(const bench::Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Json to_json(const bench::LadderMeasurement& result) {
  const bench::Measurement& m = result.measurement;
  const KernelEntry& variant = *result.entry.variant;
  return {{"kernel", result.entry.rung->name()},
          {"id", variant.id()},
          {"ran", result.ran},
          {"idea", result.entry.rung->info->idea},
          {"type", to_string(variant.kind)},
          {"tile", to_string(variant.tile)},
          {"size", result.size},
          {"mode", name_of(result.mode)},
          {"tflops", to_json(m.tflops)},
          {"cublas_tflops", m.peer_tflops ? to_json(*m.peer_tflops) : Json()},
          {"clock_mhz", m.card ? Json(m.card->sm_clock_mhz) : Json()},
          {"power_w", m.card ? Json(m.card->power_w) : Json()},
          {"rounds", m.rounds}};
}

Json to_json(const bench::PeerMeasurement& peer) {
  return {{"name", peer.name},
          {"type", to_string(peer.kind)},
          {"size", peer.size},
          {"mode", name_of(peer.mode)},
          {"tflops", to_json(peer.measurement.tflops)},
          {"clock_mhz", peer.measurement.card ? Json(peer.measurement.card->sm_clock_mhz) : Json()},
          {"power_w", peer.measurement.card ? Json(peer.measurement.card->power_w) : Json()}};
}

OutputFile::OutputFile(const std::string& path) : path_(path), partial_(path + ".partial"), stream_(partial_) {
  if (!stream_) throw InvalidArgument(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}
OutputFile::~OutputFile() {
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void OutputFile::write(const std::string& text) {
  stream_ << text;
  stream_.close();
  std::error_code error;
  if (stream_) std::filesystem::rename(partial_, path_, error);
  if (!stream_ || error) throw Error(fmt::format("{} could not be written", path_));
}

}  // namespace lapidary::cli
