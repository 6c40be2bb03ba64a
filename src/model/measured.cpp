#include "model/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "core/error.hpp"
#include "model/data.hpp"

namespace lapidary::model {
namespace {

using Json = nlohmann::json;

std::vector<MeasuredRate> rates_in(const Json& document) {
  std::vector<MeasuredRate> rates;
  for (const Json& result : document.at("results")) {
    const Json cublas = result.value("cublas_tflops", Json());
    rates.push_back({result.at("kernel"), result.at("type"), result.at("tile"), result.at("mode"), result.at("size"),
                     result.at("tflops").at("median").get<double>() * 1e12,
                     cublas.is_null() ? std::nullopt : std::optional(cublas.at("median").get<double>() * 1e12)});
  }
  return rates;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const char* writer, const Json::exception& broken) {
  throw Error(fmt::format("{} is not what lapidary {} writes: {}", path.string(), writer, broken.what()));
}

}  // namespace

std::optional<double> recorded_flop_per_shared_byte(const std::string& kernel, const std::string& type,
                                                    const std::string& tile) {
  constexpr double bytes_per_wavefront = 128;
  const std::filesystem::path path = data_file("results/emulator/ladder.json");
  std::ifstream file(path);
  if (!file.is_open()) return std::nullopt;
  try {
    const Json document = Json::parse(file);
    const double size = document.at("size");
    for (const Json& rung : document.at("rungs")) {
      if (rung.at("kernel") != kernel || rung.at("type") != type || rung.at("tile") != tile) continue;
      const Json& counters = rung.at("counters");
      const double wavefronts = counters.at("shared_load").at("wavefronts").get<double>() +
                                counters.at("shared_store").at("wavefronts").get<double>();
      if (wavefronts == 0) return std::nullopt;
      return 2 * size * size * size / (bytes_per_wavefront * wavefronts);
    }
  } catch (const Json::exception& broken) {
    refuse(path, "ladder", broken);
  }
  return std::nullopt;
}

std::vector<MeasuredRate> measured_rates(const Gpu& gpu) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator(data_file("results"), error)) {
    if (std::filesystem::exists(folder.path() / "ladder.json", error)) files.push_back(folder.path() / "ladder.json");
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    try {
      const Json document = Json::parse(file);
      // What the emulated machine counted has no receipt.
      if (!document.contains("receipt")) continue;
      if (gpu.answers_to(document.at("receipt").at("card").at("name").get<std::string>())) return rates_in(document);
    } catch (const Json::exception& broken) {
      refuse(path, "bench", broken);
    }
  }
  return {};
}

}  // namespace lapidary::model
