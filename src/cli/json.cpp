#include "cli/json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/counters.hpp"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace lapidary::cli {
namespace {

Json to_json(const emulator::GlobalCounters& c) { return {{"requests", c.requests}, {"sectors", c.sectors}}; }

Json to_json(const emulator::SharedCounters& c) {
  return {{"instructions", c.instructions}, {"wavefronts", c.wavefronts}, {"minimum", c.minimum}};
}

Json to_json(const emulator::BulkCounters& c) {
  return {{"requests", c.requests},
          {"sectors", c.sectors},
          {"bytes", c.bytes},
          {"shared_bytes", c.shared_bytes},
          {"multicast_bytes", c.multicast_bytes}};
}

Json to_json(const emulator::MmaCounters& c) { return {{"instructions", c.instructions}, {"flop", c.flop}}; }

Json to_json(const emulator::WgmmaCounters& c) {
  return {{"instructions", c.instructions}, {"shared_bytes", c.shared_bytes}, {"flop", c.flop}};
}

Json counters_object(const emulator::Counters& counters, bool with_zeros) {
  Json json = Json::object();
  for (const auto& [name, title, member, always] : global_counters) {
    if ((with_zeros && always) || (counters.*member).requests != 0) json[name] = to_json(counters.*member);
  }
  for (const auto& [name, title, member, always] : bulk_counters) {
    if ((with_zeros && always) || (counters.*member).requests != 0) json[name] = to_json(counters.*member);
  }
  for (const auto& [name, title, member, always] : shared_counters) {
    if ((with_zeros && always) || (counters.*member).instructions != 0) json[name] = to_json(counters.*member);
  }
  if (counters.mma.instructions != 0) json["mma"] = to_json(counters.mma);
  if (with_zeros || counters.wgmma.instructions != 0) json["wgmma"] = to_json(counters.wgmma);
  if (with_zeros || counters.fma != 0) json["fma"] = counters.fma;
  return json;
}

}  // namespace

Json counters_json(const emulator::Counters& counters) { return counters_object(counters, true); }

Json lines_json(const emulator::Report& report) {
  Json lines = Json::array();
  for (const emulator::LineCounters& line : report.lines) {
    lines.push_back({{"file", line.file}, {"line", line.line}, {"counters", counters_object(line.counters, false)}});
  }
  return lines;
}

Json problem_json(const bench::RandomProblem& spec) {
  const Problem& p = spec.problem;
  Json json = {{"m", p.M},         {"n", p.N},     {"k", p.K},     {"lda", p.lda},
               {"ldb", p.ldb},     {"ldc", p.ldc}, {"ldd", p.ldd}, {"alpha", spec.alpha},
               {"beta", spec.beta}};
  if (const Batch& batch = p.batch; batch.count != 1)
    json["batch"] = {{"count", batch.count},
                     {"stride_a", batch.stride_a},
                     {"stride_b", batch.stride_b},
                     {"stride_c", batch.stride_c},
                     {"stride_d", batch.stride_d}};
  if (p.groups > 0) {
    json["groups"] = spec.group_ends;
    json["stride_b"] = p.batch.stride_b;
  }
  return json;
}

Json occupancy_json(const model::Occupancy& o) {
  Json by = Json::object();
  for (const model::Limit limit : model::limits) {
    std::string key = name_of(limit);
    std::replace(key.begin(), key.end(), ' ', '_');
    by[key] = o.by(limit) == model::Occupancy::unlimited ? Json() : Json(o.by(limit));
  }
  return {{"blocks", o.blocks},
          {"warps", o.warps()},
          {"share", o.fraction()},
          {"limiters", o.limiters()},
          {"blocks_by", by},
          {"warps_per_block", o.warps_per_block},
          {"registers_per_warp", o.registers_per_warp},
          {"registers_per_block", o.registers_per_block},
          {"shared_bytes_per_block", o.shared_per_block},
          {"reason", o.reason.empty() ? Json() : Json(o.reason)}};
}

Json addresses_json(const model::AddressWork& work) {
  return {{"products", work.products},         {"tensor", work.tensor},   {"integer", work.integer},
          {"per_product", work.per_product()}, {"uniform", work.uniform}, {"data", work.data}};
}

void add_verification(Json& json, const bench::Verification& v) {
  json["ok"] = v.ok;
  json["max_error"] = v.max_error;
  json["bound"] = v.bound;
  json["row"] = v.row;
  json["col"] = v.col;
  json["results"] = v.results;
  json["compared"] = v.compared;
  json["wrong"] = v.wrong;
  json["outside"] = v.outside;
  json["message"] = v.message;
}

void add_fault(Json& json, const std::string& fault) {
  json["ok"] = false;
  json["max_error"] = nullptr;
  json["bound"] = nullptr;
  json["fault"] = fault;
}

std::string text_of(const Json& json, int indent) {
  // Names of files may be any bytes.
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void print(const Json& json) { fmt::print("{}\n", text_of(json, 2)); }

}  // namespace lapidary::cli
