#include "model/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <tuple>

#include "core/data_file.hpp"
#include "core/error.hpp"

namespace lapidary::model {
namespace {

using Json = nlohmann::json;

/// What a file has, which is parsed anew only if it has changed: explanations ask again and again.
/// @throws Json::exception if it is not JSON
std::shared_ptr<const Json> document_of(const std::filesystem::path& path, std::istream& file) {
  struct Parsed {
    std::string text;
    std::shared_ptr<const Json> document;
  };
  static std::mutex mutex;
  static std::map<std::filesystem::path, Parsed> all;
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::lock_guard lock(mutex);
  Parsed& parsed = all[path];
  if (!parsed.document || parsed.text != text) {
    parsed.document = std::make_shared<const Json>(Json::parse(text));
    parsed.text = std::move(text);
  }
  return parsed.document;
}

/// get() would make some integer of a fraction, and of what no integer holds. @throws Json::exception for these
std::int64_t whole(const Json& number) { return number.get_ref<const Json::number_integer_t&>(); }

std::vector<MeasuredRate> rates_in(const Json& document) {
  std::vector<MeasuredRate> rates;
  for (const Json& result : document.at("results")) {
    const Json cublas = result.value("cublas_tflops", Json());
    rates.push_back({result.at("id"), result.at("kernel"), result.at("type"), result.at("tile"), result.at("mode"),
                     whole(result.at("size")), result.at("tflops").at("median").get<double>() * 1e12,
                     cublas.is_null() ? std::nullopt : std::optional(cublas.at("median").get<double>() * 1e12)});
  }
  return rates;
}

}  // namespace

std::vector<MeasuredRate> measured_rates(const Gpu& gpu) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::vector<std::filesystem::path> folders;
  for (const auto& folder : std::filesystem::directory_iterator(data_file("results"), error))
    folders.push_back(folder.path());
  std::sort(folders.begin(), folders.end());
  // kinds.json and f32.json have some of the first ones again, beside others.
  for (const std::filesystem::path& folder : folders)
    for (const char* const name : {"ladder.json", "tensor.json", "times.json", "kinds.json", "f32.json"})
      if (std::filesystem::exists(folder / name, error)) files.push_back(folder / name);
  std::vector<MeasuredRate> rates;
  std::set<std::tuple<std::string, std::string, std::int64_t>> seen;
  for (const std::filesystem::path& path : files) {
    std::ifstream file(path);
    try {
      const auto read = document_of(path, file);
      const Json& document = *read;
      // What the emulated machine counted has no receipt.
      if (!document.contains("receipt")) continue;
      if (!gpu.answers_to(document.at("receipt").at("card").at("name").get<std::string>())) continue;
      for (MeasuredRate& rate : rates_in(document))
        if (seen.emplace(rate.id, rate.mode, rate.size).second) rates.push_back(std::move(rate));
    } catch (const Json::exception& broken) {
      throw Error(fmt::format("{} is not what lapidary bench writes: {}", path.string(), broken.what()));
    }
  }
  return rates;
}

std::vector<MeasuredCounters> measured_counters(const Gpu& gpu) {
  std::vector<MeasuredCounters> found;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator(data_file("results"), error)) {
    const std::filesystem::path path = folder.path() / "counters.json";
    std::ifstream file(path);
    if (!file.is_open()) continue;
    try {
      const auto read = document_of(path, file);
      const Json& document = *read;
      if (!gpu.answers_to(document.at("receipt").at("card").at("name").get<std::string>())) continue;
      for (const Json& result : document.at("results"))
        found.push_back({result.at("id"), result.at("kernel"), result.at("type"), result.at("tile"),
                         whole(result.at("m")), whole(result.at("n")), whole(result.at("k")),
                         result.at("beta").get<double>() != 0,
                         result.at("counters").get<std::map<std::string, double>>()});
    } catch (const Json::exception& broken) {
      throw Error(fmt::format("{} is not what script/agreement writes: {}", path.string(), broken.what()));
    }
  }
  return found;
}

namespace {

std::optional<PredictedTime::Held> held_in(const Json& time, const char* mode) {
  if (!time.contains("power") || time.at("power").is_null()) return {};
  const Json& held = time.at("power").at(mode);
  PredictedTime::Held found{held.at("predicted_s"), held.at("predicted_mhz").get<double>() * 1e6, {}, {}};
  if (!held.at("measured_s").is_null()) found.measured_s = held.at("measured_s").get<double>();
  if (!held.at("measured_mhz").is_null()) found.measured_hz = held.at("measured_mhz").get<double>() * 1e6;
  return found;
}

}  // namespace

Predictions recorded_predictions(const Gpu& gpu) {
  Predictions found;
  std::error_code error;
  for (const auto& folder : std::filesystem::directory_iterator(data_file("results"), error)) {
    const std::filesystem::path path = folder.path() / "predictions.json";
    std::ifstream file(path);
    if (!file.is_open()) continue;
    try {
      const auto read = document_of(path, file);
      const Json& document = *read;
      if (document.at("gpu") != gpu.name) continue;
      for (const Json& time : document.at("times"))
        found.times.push_back({time.at("id"), time.at("kernel"), time.at("type"), time.at("tile"),
                               whole(time.at("size")), time.at("predicted_s"), time.at("measured_s"),
                               time.at("limiter"), held_in(time, "burst"), held_in(time, "sustained")});
      for (const Json& launch : document.at("counters")) {
        PredictedCounters counters{
            launch.at("id"),       launch.at("kernel"),   launch.at("type"),     launch.at("tile"),
            whole(launch.at("m")), whole(launch.at("n")), whole(launch.at("k")), {}};
        for (const Json& c : launch.at("counters"))
          counters.counters.push_back({c.at("counter"), c.at("written"), c.at("compiled"), c.at("measured")});
        found.counters.push_back(std::move(counters));
      }
    } catch (const Json::exception& broken) {
      throw Error(fmt::format("{} is not what script/predict writes: {}", path.string(), broken.what()));
    }
  }
  return found;
}

}  // namespace lapidary::model
