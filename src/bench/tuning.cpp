#include "bench/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/error.hpp"

namespace lapidary::bench {
namespace {

using Json = TuningRecord::Json;

bool same_work(const Json& a, const Json& b) {
  return a["type"] == b["type"] && a["size"] == b["size"] && a["mode"] == b["mode"];
}
bool same_kernel(const Json& a, const Json& b) { return a["kernel"] == b["kernel"] && a["tile"] == b["tile"]; }

Json best_of(const Json& measured) {
  const auto merit = [](const Json& m) {
    const double rate = m["tflops"]["median"];
    return m["cublas_tflops"].is_null() ? rate : rate / m["cublas_tflops"]["median"].get<double>();
  };
  Json best = Json::array();
  for (const Json& one : measured) {
    if (one.value("fast_accumulation", false)) continue;
    const auto known = std::find_if(best.begin(), best.end(), [&](const Json& b) { return same_work(b, one); });
    if (known == best.end())
      best.push_back(one);
    else if (merit(one) > merit(*known))
      *known = one;
  }
  Json table = Json::array();
  for (const Json& one : best)
    table.push_back({{"type", one["type"]},
                     {"size", one["size"]},
                     {"mode", one["mode"]},
                     {"kernel", one["kernel"]},
                     {"tile", one["tile"]},
                     {"share", one["cublas_tflops"].is_null() ? Json() : Json(merit(one))}});
  return table;
}

}  // namespace

TuningRecord::TuningRecord(const std::string& path)
    : document_{{"receipts", Json::array()}, {"measured", Json::array()}, {"best", Json::array()}} {
  std::ifstream file(path);
  if (path.empty() || !file) return;
  try {
    document_ = Json::parse(file);
  } catch (const Json::exception& error) {
    throw InvalidArgument(fmt::format("{}: {}", path, error.what()));
  }
}

void TuningRecord::add_measurement(Json measurement) {
  Json& measured = document_["measured"];
  const auto older = std::find_if(measured.begin(), measured.end(), [&](const Json& known) {
    return same_work(known, measurement) && same_kernel(known, measurement);
  });
  if (older == measured.end())
    measured.push_back(std::move(measurement));
  else
    *older = std::move(measurement);
}

Json TuningRecord::document() const {
  Json document = document_;
  Json& receipts = document["receipts"];
  const Json& measured = document["measured"];
  Json kept = Json::array();
  for (const Json& receipt : receipts) {
    const auto refers = [&](const Json& m) { return m["receipt"] == receipt["date"]; };
    if (std::any_of(measured.begin(), measured.end(), refers)) kept.push_back(receipt);
  }
  receipts = std::move(kept);
  document["best"] = best_of(measured);
  return document;
}

}  // namespace lapidary::bench
