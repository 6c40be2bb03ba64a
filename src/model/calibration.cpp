#include "model/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"
#include "model/roofline.hpp"

namespace lapidary::model {
namespace {

constexpr int schedulers = 4;  // of a multiprocessor, each with tensor cores

/// A form of mma.sync whose cycles `lapidary calibrate` measures on the same operands, and of 16 bits as NAME_tile on
/// other ones each time.
struct MeasuredForm {
  const char* name;
  double multiply_adds;
};

/// That which tells of one of so many multiply-adds.
const MeasuredForm& measured_form(Type operands, double multiply_adds) {
  static constexpr MeasuredForm s8{"mma_s8_16832", 16 * 8 * 32}, tf32{"mma_tf32_1688", 16 * 8 * 8},
      k8{"mma_bf16_1688", 16 * 8 * 8}, k16{"mma_bf16_16816", 16 * 8 * 16};
  if (operands == Type::s8) return s8;
  if (operands == Type::tf32) return tf32;
  return multiply_adds <= k8.multiply_adds ? k8 : k16;
}

bool has_part(const MachineInstruction& i, std::string_view part) { return i.opcode.find(part) != i.opcode.npos; }

}  // namespace

double tensor_flop_per_clk(const Gpu& gpu, const MachineInstruction& i) {
  if (i.opcode.starts_with("IMMA")) return gpu.tensor_int8_op_per_clk;
  if (i.opcode.starts_with("DMMA")) return gpu.tensor_f64_flop_per_clk;
  if (has_part(i, ".TF32")) return gpu.tensor_tf32_flop_per_clk;
  if (has_part(i, ".BF16")) return gpu.tensor_bf16_flop_per_clk;
  return has_part(i, ".F16") ? gpu.tensor_f16_f16_flop_per_clk : gpu.tensor_f16_flop_per_clk;
}

Calibration::Calibration(std::string_view json, std::string_view file) : file_(file) {
  try {
    const nlohmann::json document = nlohmann::json::parse(json);
    for (const auto& constant : document.at("constants"))
      constants_[constant.at("name").get<std::string>()] = constant.at("median").get<double>();
    const nlohmann::json::json_pointer highest("/receipt/card/max_sm_clock_mhz");
    if (document.contains(highest)) highest_hz_ = document.at(highest).get<double>() * 1e6;
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(fmt::format("{} is no file that lapidary calibrate writes: {}", file, error.what()));
  }
}

std::optional<double> Calibration::find(std::string_view name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? std::nullopt : std::optional(found->second);
}

double Calibration::operator[](std::string_view name) const {
  if (const auto value = find(name)) return *value;
  throw InvalidArgument(fmt::format("{} lacks the constant {}; script/calibrate measures all of them", file_, name));
}

double Calibration::either(std::string_view name, std::string_view otherwise) const {
  const auto value = find(name);
  return value ? *value : (*this)[otherwise];
}

Calibration Calibration::at_clock(double share) const {
  Calibration there = *this;
  for (auto& [name, value] : there.constants_) {
    if (name == "l2_latency" || name == "dram_latency" || name == "store_8_lines") value *= share;
    if (name.starts_with("l2_bytes") || name.starts_with("dram_bytes") || name.starts_with("tensor_bytes"))
      value /= share;
  }
  return there;
}

Calibration Calibration::on_card(const Gpu& gpu, const Gpu& own) const {
  Calibration there = *this;
  const auto of_one = [](const Gpu& card, double bytes_per_s) { return bytes_per_s / card.sms / card.clock_hz; };
  if (gpu.l2_read_measured_bytes_per_s) {
    const double all = of_one(gpu, *gpu.l2_read_measured_bytes_per_s);
    if (const auto boxes = find("tensor_bytes_4"))
      there.constants_["tensor_bytes_4"] = *boxes * all / (*this)["l2_bytes_all"];
    there.constants_["l2_bytes_all"] = all;
  }
  const double reached = (*this)["dram_bytes_all"] / of_one(own, own.dram_bytes_per_s);
  there.constants_["dram_bytes_all"] = gpu.dram_read_measured_bytes_per_s
                                           ? of_one(gpu, *gpu.dram_read_measured_bytes_per_s)
                                           : of_one(gpu, gpu.dram_bytes_per_s) * std::min(1.0, reached);
  return there;
}

double Calibration::tensor_cycles(const Gpu& gpu, const MachineInstruction& i) const {
  const double peak = tensor_flop_per_clk(gpu, i);
  if (peak <= 0) throw InvalidArgument(fmt::format("{} has no tensor cores for {}", gpu.name, i.opcode));
  const double at_peak = 2.0 * i.multiply_adds() * schedulers / peak;
  if (gpu.compute_capability != 90 || i.opcode.starts_with("DMMA")) return at_peak;
  const Type operands = i.opcode.starts_with("IMMA") ? Type::s8 : has_part(i, ".TF32") ? Type::tf32 : Type::bf16;
  return at_peak / mma_share(gpu, operands, i.multiply_adds());
}

double Calibration::mma_share(const Gpu& gpu, Type operands, double multiply_adds) const {
  if (gpu.compute_capability != 90) return 1;
  if (operands == Type::e4m3)
    return mma_share(gpu, Type::f16, multiply_adds / 2) * gpu.tensor_f16_flop_per_clk / gpu.tensor_fp8_flop_per_clk;
  const MeasuredForm& form = measured_form(operands, multiply_adds);
  const auto tile = find(fmt::format("{}_tile", form.name)), cycles = tile ? tile : find(form.name);
  constexpr double documented = 0.629;
  if (!cycles) return documented;
  return std::min(1.0, 2 * form.multiply_adds * schedulers / tensor_flop_per_clk(gpu, operands) / *cycles);
}

double Calibration::wgmma_slowdown() const {
  constexpr double at_peak = 128;  // cycles of 64 x 256 x 16 at 4096 FLOP a cycle
  return std::max(1.0, find("wgmma_n256").value_or(at_peak) / at_peak);
}

double Calibration::stored_line(double bytes) const {
  constexpr double sector = 32, measured = 16;
  const double lookup = (*this)["l1_32_32_lines"] / 32, part = find("store_8_lines").value_or(0) / 8;
  // As many of them are taken to be half sectors, as were measured, as make the mean, and the others whole ones.
  const double halves = std::clamp((sector - bytes) / (sector - measured), 0.0, 1.0);
  return lookup + halves * std::max(0.0, part - lookup);
}

bool Calibration::has_tensor_cores() const { return find("mma_bf16_16816") && find("wgmma_n256"); }

MultiprocessorConstants Calibration::multiprocessor(const Gpu& gpu, double code_bytes, int warps) const {
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
  constexpr int half_lanes = 16;
  c.fma_halves = gpu.fp32_lanes >= 2 * half_lanes * c.schedulers ? 2 : 1;
  // L1 and shared memory are one, as wide for lines as for wavefronts.
  constexpr double wavefront_bytes = 128;
  c.wavefront_cycles = std::max(1.0, wavefront_bytes / gpu.shared_bytes_per_clk);
  c.lines_per_cycle = 32 / k["l1_32_32_lines"] / c.wavefront_cycles;
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
  std::filesystem::path file = data_file(gpu.results_folder() + "/calibration.json");
  measured = std::filesystem::exists(file);
  if (!measured) file = data_file("results/h200/calibration.json");
  const std::optional<std::string> text = read_file(file);
  if (!text) throw InvalidArgument(fmt::format("{} cannot be read", file.string()));
  const Calibration found(*text, file.string());
  if (!measured) return found.on_card(gpu, find_gpu("H200"));
  // A driver may let a card run faster than its data sheet says.
  return found.highest_hz() ? found.at_clock(gpu.clock_hz / *found.highest_hz()) : found;
}

}  // namespace lapidary::model
