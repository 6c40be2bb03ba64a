#include "model/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "model/data.hpp"

namespace lapidary::model {

Calibration::Calibration(std::string_view json, std::string_view file) : file_(file) {
  try {
    const nlohmann::json document = nlohmann::json::parse(json);
    for (const auto& constant : document.at("constants"))
      constants_[constant.at("name").get<std::string>()] = constant.at("median").get<double>();
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(fmt::format("{} is no file that lapidary calibrate writes: {}", file, error.what()));
  }
}

double Calibration::operator[](std::string_view name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end())
    throw InvalidArgument(fmt::format("{} lacks the constant {}; script/calibrate measures all of them", file_, name));
  return found->second;
}

MultiprocessorConstants Calibration::multiprocessor(double code_bytes, int warps) const {
  const Calibration& k = *this;
  MultiprocessorConstants c;
  c.schedulers = 4;
  c.shared_latency = k["shared_latency"];
  c.l1_latency = k["l1_latency"];
  c.l2_latency = k["l2_latency"];
  c.dram_latency = k["dram_latency"];
  // A barrier of n warps takes a latency and n arrivals, one after the other.
  c.barrier_arrival = (k["barrier_32"] - k["barrier_4"]) / 28;
  c.barrier_latency = k["barrier_4"] - 4 * c.barrier_arrival;
  c.lines_per_cycle = 32 / k["l1_32_32_lines"];
  c.shared_issue = k["lds32_broadcast"];
  c.queue_entries = 8;
  // Code that does not fit the instruction cache is fetched anew in each iteration. What of it misses is taken to be
  // what is too much; a miss costs what loops of twice the cache showed, by how many warps share the fetches.
  constexpr double cache = 32 * 1024;
  if (code_bytes > cache) {
    const double few = (4 * k["ffma_code_64k"] - 1) / 0.5, many = (4 * k["ffma_code_64k_16"] - 1) / 0.5;
    const double share = std::clamp((warps - 8) / 8.0, 0.0, 1.0);
    c.fetch_interval = 1 + (1 - cache / code_bytes) * (few + share * (many - few));
  }
  return c;
}

Calibration calibration_of(const Gpu& gpu, bool& measured) {
  std::string folder;
  for (const char c : gpu.name)
    folder += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  std::filesystem::path file = data_file(fmt::format("results/{}/calibration.json", folder));
  measured = std::filesystem::exists(file);
  if (!measured) file = data_file("results/h200/calibration.json");
  std::ifstream stream(file);
  if (!stream) throw InvalidArgument(fmt::format("{} cannot be read", file.string()));
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  return Calibration(text, file.string());
}

}  // namespace lapidary::model
