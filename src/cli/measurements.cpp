#include "cli/measurements.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/error.hpp"

namespace lapidary::cli {

static Json measured_json(const bench::Spread& spread) {
  return {{"median", spread.median}, {"min", spread.min}, {"max", spread.max}};
}

Json measured_json(const std::optional<double>& seconds) { return seconds ? Json(*seconds) : Json(); }

Json measured_json(const std::optional<bench::BurstTimes>& bursts) {
  if (!bursts) return {};
  return {{"chosen_s", bursts->chosen_seconds},
          {"alone_s", measured_json(bursts->alone_seconds)},
          {"cublas_s", measured_json(bursts->cublas_seconds)}};
}

/// Of a cube; null of others.
static Json size_of(const bench::TimedProblem& problem) {
  return problem.M == problem.N && problem.N == problem.K ? Json(problem.M) : Json();
}

static Json measured_json(const bench::LeftOut& one) {
  return {{"kernel", one.kernel}, {"type", to_string(one.kind)}, {"m", one.M}, {"n", one.N}, {"k", one.K},
          {"why", one.why}};
}

/// What a measurement says of the card while it ran.
static Json card_json(const bench::Measurement& m) {
  return {{"clock_mhz", m.card ? Json(m.card->sm_clock_mhz) : Json()},
          {"effective_clock_mhz", m.clock && m.clock->mhz ? Json(*m.clock->mhz) : Json()},
          {"probe_slowdown", m.clock ? Json(m.clock->slowdown) : Json()},
          {"power_w", m.card ? Json(m.card->power_w) : Json()}};
}

Json measured_json(const bench::LadderMeasurement& result) {
  const bench::Measurement& m = result.measurement;
  const KernelEntry& kernel = *result.entry.kernel;
  Json json = {{"kernel", result.entry.rung->name()},
               {"id", kernel.id()},
               {"ran", result.ran},
               {"idea", result.entry.rung->info->idea},
               {"type", to_string(kernel.kind)},
               {"tile", to_string(kernel.tile)},
               {"size", size_of(result.problem)},
               {"m", result.problem.M},
               {"n", result.problem.N},
               {"k", result.problem.K},
               {"label", result.problem.label.empty() ? Json() : Json(result.problem.label)},
               {"mode", name_of(result.mode)},
               {"tflops", measured_json(m.tflops)},
               {"cublas_tflops", m.peer_tflops ? measured_json(*m.peer_tflops) : Json()}};
  json.update(card_json(m));
  json["rounds"] = m.rounds;
  return json;
}

Json measured_json(const bench::PeerMeasurement& peer) {
  Json json = {{"name", peer.name},
               {"type", to_string(peer.kind)},
               {"size", size_of(peer.problem)},
               {"m", peer.problem.M},
               {"n", peer.problem.N},
               {"k", peer.problem.K},
               {"mode", name_of(peer.mode)},
               {"tflops", measured_json(peer.measurement.tflops)}};
  json.update(card_json(peer.measurement));
  return json;
}

Json measured_json(const bench::LadderReport& report) {
  const auto list = [](const auto& all) {
    Json json = Json::array();
    for (const auto& one : all) json.push_back(measured_json(one));
    return json;
  };
  return {{"receipt", report.receipt},  {"ok", report.wrong.empty()},        {"complete", report.complete},
          {"wrong", report.wrong},      {"left_out", list(report.left_out)}, {"results", list(report.results)},
          {"peers", list(report.peers)}};
}

OutputFile::OutputFile(const std::string& path) : path_(path), partial_(path + ".partial") {
  if (!std::ofstream(partial_))
    throw InvalidArgument(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  std::error_code ignored;
  std::filesystem::remove(partial_, ignored);
}

void OutputFile::write(const std::string& text) const {
  std::ofstream stream(partial_);
  stream << text;
  stream.close();
  std::error_code error;
  if (stream) std::filesystem::rename(partial_, path_, error);
  if (stream && !error) return;
  std::filesystem::remove(partial_, error);
  throw Error(fmt::format("{} could not be written", path_));
}

}  // namespace lapidary::cli
