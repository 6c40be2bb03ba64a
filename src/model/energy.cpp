#include "model/energy.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/data_file.hpp"
#include "core/error.hpp"
#include "core/file.hpp"

namespace lapidary::model {
namespace {

constexpr std::string_view dram = "bytes of DRAM", copied = "bytes into shared memory", l2 = "bytes from L2";

bool has_own_voltage(std::string_view thing) { return thing == dram || thing == copied || thing == l2; }

}  // namespace

PowerModel::PowerModel(std::string_view json, std::string_view file) : file_(file) {
  try {
    const nlohmann::json document = nlohmann::json::parse(json);
    for (const auto& constant : document.at("constants")) {
      const double value = constant.at("value").get<double>();
      if (!(value >= 0 && value < 1e9)) throw InvalidArgument(fmt::format("{} has a constant of {}", file, value));
      constants_[constant.at("name").get<std::string>()] = value;
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(fmt::format("{} is no file that script/fit-energy writes: {}", file, error.what()));
  }
  for (const char* const name :
       {"idle", "voltage", "highest_clock", "tensor_clock", "burst_limit", "burst_copies", "burst_limit_all"})
    constant(name);
  if (constant("highest_clock") < 1) throw InvalidArgument(fmt::format("{} has a highest clock below 1 MHz", file));
}

double PowerModel::constant(std::string_view name) const {
  const auto found = constants_.find(name);
  if (found == constants_.end())
    throw InvalidArgument(fmt::format("{} lacks the constant {}; script/fit-energy writes all of them", file_, name));
  return found->second;
}

std::optional<double> PowerModel::energy(std::string_view thing) const {
  constexpr double pico = 1e-12;
  if (const auto found = constants_.find(thing); found != constants_.end()) return found->second * pico;
  // Of mma.sync in one type was measured; others are to it as those of wgmma are.
  if (!thing.starts_with("mma ")) return {};
  const auto measured = energy("mma bf16 flop"), here = energy(fmt::format("wg{}", thing)),
             there = energy("wgmma bf16 flop");
  if (!measured || !here || !there) return {};
  return *measured * *here / *there;
}

std::map<std::string, double> PowerModel::joules(const Activity& activity, double clock_hz) const {
  const double volts = 1 + constant("voltage") * (clock_hz / (1e6 * constant("highest_clock")) - 1);
  std::map<std::string, double> found;
  for (const auto& [thing, count] : activity)
    if (const auto each = energy(thing); each && count > 0)
      found[thing] = *each * count * (has_own_voltage(thing) ? 1 : volts * volts);
  return found;
}

double PowerModel::watts(const Activity& activity, double seconds, double clock_hz) const {
  double sum = 0;
  for (const auto& [thing, each] : joules(activity, clock_hz)) sum += each;
  return constant("idle") + sum / seconds;
}

bool PowerModel::exceeds_burst(const Activity& activity, double seconds, double clock_hz) const {
  double core = constant("idle"), all = core;
  for (const auto& [thing, each] : joules(activity, clock_hz)) {
    all += each / seconds;
    if (thing != dram) core += (thing == copied ? constant("burst_copies") : 1) * each / seconds;
  }
  return core > constant("burst_limit") || all > constant("burst_limit_all");
}

std::optional<PowerModel> power_of(const Gpu& gpu, bool& measured) {
  std::filesystem::path file = data_file(gpu.results_folder() + "/power.json");
  measured = std::filesystem::exists(file);
  if (!measured && gpu.compute_capability != 90) return {};
  if (!measured) file = data_file("results/h100/power.json");
  const std::optional<std::string> text = read_file(file);
  if (!text) throw InvalidArgument(fmt::format("{} cannot be read", file.string()));
  return PowerModel(*text, file.string());
}

HeldClock held_clock(const Gpu& gpu, const PowerModel& power, const Activity& activity, Load load, double highest,
                     const std::function<double(double)>& seconds_at) {
  const auto too_much = [&](const HeldClock& held) {
    if (load == Load::burst) return power.exceeds_burst(activity, held.seconds, held.clock_hz);
    return gpu.power_limit_w > 0 && held.watts > gpu.power_limit_w;
  };
  const auto at = [&](double clock_hz) {
    const double seconds = seconds_at(clock_hz);
    return HeldClock{clock_hz, seconds, power.watts(activity, seconds, clock_hz), false};
  };
  HeldClock held = at(highest);
  if (!too_much(held)) return held;
  // No card goes below a third of its clock for that.
  double low = highest / 3, high = highest;
  while (high - low > 1e3) {
    const double middle = (low + high) / 2;
    (too_much(at(middle)) ? high : low) = middle;
  }
  held = at(low);
  held.limited = true;
  return held;
}

}  // namespace lapidary::model
