#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/file.hpp"
#include "fuzz.hpp"
#include "lens/rung_record.hpp"
#include "model/calibration.hpp"
#include "model/gpu.hpp"
#include "model/measured.hpp"

namespace lapidary::fuzz {
namespace {

using Json = nlohmann::ordered_json;

std::string file(const std::string& path) { return read_file(LAPIDARY_SOURCE_DIR "/" + path).value(); }

/// A file of JSON, of whose long lists some values are left.
std::string excerpt(const std::string& path, std::size_t most = 4) {
  const std::function<void(Json&)> shorten = [&](Json& json) {
    while (json.is_array() && json.size() > most) json.erase(json.size() - 1);
    for (Json& inner : json)
      if (inner.is_structured()) shorten(inner);
  };
  Json json = Json::parse(file(path));
  shorten(json);
  return json.dump();
}

const model::Gpu& h200() {
  static const std::vector<model::Gpu> gpus = model::parse_gpus(file("data/gpus.csv"), "gpus.csv");
  return model::find_gpu(gpus, "h200");
}

void read_calibration(const std::string& input) {
  const model::Calibration calibration(input, "calibration.json");
  static_cast<void>(calibration.wgmma_slowdown());
  static_cast<void>(calibration.mma_share(h200(), Type::bf16, 16 * 8 * 16));
  static_cast<void>(calibration.multiprocessor(h200(), 40000, 8));
}

/// A target that reads a file of results/h200.
template <class Read>
Target results_target(const std::string& name, const Read& read) {
  const std::string path = "results/h200/" + name + ".json";
  return {name,
          {excerpt(path)},
          {"h200", "NVIDIA H200", "naive_32x32_f32", "f32", "burst", "sustained", "128x128x8", "", "results"},
          [=](const std::string& input) {
            write_file(scratch_file(path), input);
            read();
          },
          mutated_json};
}

}  // namespace

std::vector<Target> document_targets() {
  return {{"calibration",
           {file("results/h200/calibration.json")},
           {"shared_latency", "constants", "name", "median", "barrier_4"},
           read_calibration,
           mutated_json},
          {"records",
           {file("results/emulator/f16_cute.json")},
           {"f16", "bf16 RC", "global_load", "shared_store", "x", "rows", "owners"},
           [](const std::string& input) {
             const lens::RungRecord record = lens::parse_record(input, "record.json");
             const std::string text = to_text(record);
             require_same("a record", text, to_text(lens::parse_record(text, "record.json")));
           },
           mutated_json},
          results_target("ladder", [] { static_cast<void>(model::measured_rates(h200())); }),
          results_target("predictions", [] { static_cast<void>(model::recorded_predictions(h200())); }),
          results_target("counters", [] { static_cast<void>(model::measured_counters(h200())); })};
}

}  // namespace lapidary::fuzz
